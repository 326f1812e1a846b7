"""Darshan: the output of darshan-parser (all records, `--total` or `--perf`).

Counters of all records of a module are summed, as by `--total`, if a sum is meaningful: operations, bytes and
cumulative seconds. A value of -1 was not monitored. `--perf` estimates the rate of a module from its bytes and
the time of the slowest rank (MiB/s). Counters are described in the documentation of darshan-util.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, field

from hpcscope.exchange.imports import metric, setting
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

_NAME = "storage.darshan"
_LOG = re.compile(r"# darshan log version: ")
_LIBRARY = re.compile(r"# metadata: lib_ver = (\S+)")
_FACT = re.compile(r"# (start_time|nprocs|run time|exe): (.*?)\s*$")
_MODULE = re.compile(r"# (\S+) module data\s*$")
_RECORD = re.compile(
    r"(?P<module>[A-Z][\w/-]*)\t(?P<rank>-?\d+)\t\d+\t(?P<counter>[A-Z]\w*)\t(?P<value>-?\d+(?:[.,]\d+)?)\t"
)
_TOTAL = re.compile(r"total_(?P<counter>[A-Z]\w*): (?P<value>-?\d+(?:[.,]\d+)?)\s*$")
_PERFORMANCE = re.compile(
    r"# (?P<key>total_bytes|agg_time_by_slowest|agg_perf_by_slowest): (?P<value>\d+(?:[.,]\d+)?)"
)
_SUMS = {
    "OPENS": ("opens", "1", "opens"),
    "INDEP_OPENS": ("independent_opens", "1", "independent opens"),
    "COLL_OPENS": ("collective_opens", "1", "collective opens"),
    "READS": ("reads", "1", "reads"),
    "WRITES": ("writes", "1", "writes"),
    "INDEP_READS": ("independent_reads", "1", "independent reads"),
    "COLL_READS": ("collective_reads", "1", "collective reads"),
    "INDEP_WRITES": ("independent_writes", "1", "independent writes"),
    "COLL_WRITES": ("collective_writes", "1", "collective writes"),
    "SEEKS": ("seeks", "1", "seeks"),
    "STATS": ("stats", "1", "stats"),
    "FSYNCS": ("syncs", "1", "syncs"),
    "BYTES_READ": ("read_bytes", "B", "bytes read"),
    "BYTES_WRITTEN": ("written_bytes", "B", "bytes written"),
    "F_READ_TIME": ("read_s", "s", "time of reads, all ranks"),
    "F_WRITE_TIME": ("write_s", "s", "time of writes, all ranks"),
    "F_META_TIME": ("metadata_s", "s", "time of metadata, all ranks"),
}
_OTHERS = {
    "run time": ("run_s", "s", "time of the run", "lower"),
    "total_bytes": ("moved_bytes", "B", "bytes read and written", "lower"),
    "agg_time_by_slowest": ("time_s", "s", "time of the slowest rank", "lower"),
    "agg_perf_by_slowest": ("bandwidth_bytes_per_s", "B/s", "bandwidth by the slowest rank", "higher"),
}
_MIB = 2**20


@dataclass
class _Reader(LineReader):
    TITLE = "Darshan"
    BEGINS = (_LOG,)
    CLAIMS = (_LOG,)
    DIFFERS = (f"{TITLE}: histograms, strides, timestamps and per-file records are left out",)

    _ranks: int | None = None
    _module: str = ""
    _sums: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    """Sum by module and counter, with the line of the first record."""
    _totals: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    _logged: bool = False

    def _takes(self, line: TextLine) -> bool:
        text = line.text
        if _LOG.match(text):
            self._logged = True
        elif library := _LIBRARY.match(text):
            self.versions.append(library[1])
        elif fact := _FACT.match(text):
            self._fact(fact[1], fact[2], line.number)
        elif module := _MODULE.match(text):
            self._module = module[1].replace("-", "")
        elif self._module and (one := _PERFORMANCE.match(text)):
            value = number(one["value"]) * (_MIB if one["key"] == "agg_perf_by_slowest" else 1)
            self._add(self._module, *_OTHERS[one["key"]], value, line.number)
        elif one := _RECORD.match(text):
            self._count(self._sums, one["counter"], one["value"], line.number)
        elif one := _TOTAL.match(text):
            self._count(self._totals, one["counter"], one["value"], line.number)
        else:
            return self._logged and text.startswith("#")
        return True

    def close(self) -> None:
        """Add the values at the end of a log."""
        for (module, counter), (value, line) in (self._sums | self._totals).items():
            self._add(module, *_SUMS[counter], "lower", round(value, 6), line)

    def _fact(self, key: str, value: str, line: int) -> None:
        with suppress(ValueError):
            if key == "nprocs":
                self._ranks = int(value) or None
            elif key == "start_time":
                self.began(float(value))
            elif key == "run time":
                self._add("job", *_OTHERS[key], number(value), line)

    def _count(self, sums: dict[tuple[str, str], tuple[float, int]], counter: str, value: str, line: int) -> None:
        module, _, name = counter.partition("_")
        if name in _SUMS and not value.startswith("-"):
            before, first = sums.get((module, name), (0.0, line))
            sums[module, name] = (before + number(value), first)

    def _add(self, module: str, name: str, unit: str, label: str, better: str, value: float, line: int) -> None:
        measured, given = metric(name, unit, label, better), [setting("module", module, bare=True)]
        summary = f"file access of a program, recorded by {self.TITLE}"
        self.add(self.foreign(_NAME, summary, [measured], given, self._ranks), value, line)
