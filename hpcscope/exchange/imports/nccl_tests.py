"""nccl-tests: its table, versions 2.9 to 2.19, and its JSON (`-J`).

A line for each size holds the time in microseconds, the algorithm bandwidth (size / time) and the bus bandwidth
(times a factor of the operation, doc/PERFORMANCE.md) in 10^9 bytes per second, first out of place, then in place.
The time is the mean over the iterations, and over the ranks unless `-a` says otherwise. Only newer versions print
the operation.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hpcscope.exchange.imports import MESSAGE_SIZE, Given, Reading, metric, once, setting
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader
from hpcscope.samples.records import Beside

_VERSION = re.compile(r"# nccl-tests version (\S+)")
_TEST = re.compile(r"# Collective test (starting|concluded): (\S+)")
_SETTINGS = re.compile(r"# nThreads? \d+ nGpus \d+ minBytes .* warmup iters: \d+ iters: (\d+) ")
_RANK = re.compile(r"#\s+Rank +(?P<rank>\d+) (?:Group +\d+ )?Pid +\d+ on +(?P<host>\S+) device ")
_HEAD = re.compile(r"# +size +count +type\b")
_SAID = re.compile(
    r"#\s*($|Using devices|\(B\)|out-of-place|Out of bounds values|Avg bus bandwidth|Blocking |Parallel Init"
    r"|Per-Iteration Report)"
)
_ROW = re.compile(r"\s*\d+\s+\d+\s+\w+\s")
_SIDES = ("out_of_place", "in_place")
_MEASURES = ("time", "cputime", "algbw", "busbw", "#wrong", "error", "i_min", "i_max", "i_p99", "i_cv%")
_METRICS = {
    "time_s": metric("time_s", "s", "time"),
    "iteration_s": metric("iteration_s", "s", "time of an iteration"),
    "algorithm_bytes_per_s": metric("algorithm_bytes_per_s", "B/s", "algorithm's bandwidth", "higher"),
    "bus_bytes_per_s": metric("bus_bytes_per_s", "B/s", "bus bandwidth", "higher"),
}
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?(?:e[+-]?\d+)?$")
_BESIDE: dict[str, Beside] = {"i_min": "minimum", "i_max": "maximum", "i_p99": "p99"}
_DOCUMENT = re.compile(r'\{.*"nccl_version"')
_UNKNOWN = "unknown"


class _Reader(LineReader):
    TITLE = "nccl-tests"
    BEGINS = (
        re.compile(r"# nccl-tests version"),
        re.compile(r"# Collective test starting"),
        re.compile(rf'{_SETTINGS.pattern}|\{{"version"'),
    )
    ENDS = re.compile(r"# Avg bus bandwidth")
    CLAIMS = ((_HEAD, re.compile(r".*busbw")), _DOCUMENT)

    _test = _UNKNOWN
    _ranks: int | None = None
    _iterations: int | None = None
    _columns: Sequence[str] = ()

    def reading(self, lines: Sequence[TextLine]) -> Reading:
        """Return the values of a table, or of a document; no values if the document is truncated."""
        if not lines or not _DOCUMENT.match(lines[0].text):
            return super().reading(lines)
        self.missing.append("the version")
        try:
            self._document(lines)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.figures, self.benchmarks = [], []
        return super().reading([])

    def close(self) -> None:
        """Report the operation as missing if no line named it."""
        if self._test == _UNKNOWN and not self.missing:
            self.missing.append("the operation")

    def _takes(self, line: TextLine) -> bool:
        text = line.text
        if version := _VERSION.match(text):
            self.versions.append(version[1])
        elif test := _TEST.match(text):
            self._test = test[2].removesuffix("_perf")
        elif settings := _SETTINGS.match(text):
            self._iterations = int(settings[1])
        elif rank := _RANK.match(text):
            once(self.facts, f"rank {rank['rank']}", line.number)
            self._ranks = len(self.facts)
            self.hosts.append(rank["host"])
        elif _HEAD.match(text):
            columns = text.lstrip("# ").split()
            heads = [column for column in columns if column in _MEASURES]
            twice = heads[: len(heads) // 2] == heads[len(heads) // 2 :]
            known = {"algbw", "busbw"} <= set(heads) and ("time" in heads or "cputime" in heads)
            self._columns = columns if columns[0] == "size" and twice and known else []
        elif self._columns and _ROW.match(text):
            return self._row(line)
        else:
            return _SAID.match(text) is not None
        return True

    def _row(self, line: TextLine) -> bool:
        """Return whether the cells of a row match the header; a truncated line has fewer cells."""
        cells = line.text.split()
        timed = self._columns[-1] == "timestamp"
        named = [column for column in self._columns if column not in (*_MEASURES, "timestamp")]
        # For operations without a reduction, versions before 2.10 print the column heading but not the cell.
        if "redop" in named and len(cells) == len(self._columns) + timed - 1:
            named.remove("redop")
        elif len(cells) != len(self._columns) + timed:
            return False
        of = dict(zip(named, cells, strict=False))
        heads = [column for column in self._columns if column in _MEASURES]
        half = len(heads) // 2
        measured = cells[len(named) : len(named) + 2 * half]
        whole = all(_NUMBER.match(cell) or cell == "N/A" for cell in measured)
        if not whole or measured[0] == "N/A" or not cells[0].isdigit():
            return False
        for side, start in zip(_SIDES, (0, half), strict=True):
            row = dict(zip(heads[start : start + half], measured[start : start + half], strict=True))
            beside = {name: _printed(row[key], 1e-6) for key, name in _BESIDE.items() if key in row}
            wrong = row.get("#wrong", "N/A")
            values = {
                "time_s": [_printed(row.get("time") or row["cputime"], 1e-6)],
                "algorithm_bytes_per_s": [_printed(row["algbw"], 1e9)],
                "bus_bytes_per_s": [_printed(row["busbw"], 1e9)],
            }
            settings = {key: of[key] for key in ("type", "redop", "root") if key in of} | {"buffers": side}
            failure = "" if wrong in ("0", "N/A") else f"{wrong} wrong elements"
            self._values(settings, int(of["size"]), values, line.number, failure, beside)
        return True

    def _document(self, lines: Sequence[TextLine]) -> None:
        """Read a document written by `-J`."""
        text = "\\n".join(line.text for line in lines)
        whole, end = json.JSONDecoder().raw_decode(text)
        config = whole["config"]
        # The document lists the first device of each process.
        self._ranks = len(config["devices"]) * int(config["nthreads"]) * int(config["ngpus"])
        self._test = str(whole["args"][0]).rpartition("/")[2].removesuffix("_perf")
        for row in whole["results"]:
            self._iterations = int(row["actual_iterations"])
            settings = {
                "type": str(row["type"]),
                "redop": str(row["redop"]),
                "root": str(row["root"]).strip(),
            }
            for side in _SIDES:
                of = row.get(side)
                if of is None:
                    continue
                values = {
                    "time_s": [_seconds(of.get("time", of.get("cpu_time")))],
                    "algorithm_bytes_per_s": [float(of["alg_bw"]) * 1e9],
                    "bus_bytes_per_s": [float(of["bus_bw"]) * 1e9],
                }
                if single := row.get(f"{side}_per_iter"):
                    values["iteration_s"] = [_seconds(time_us) for time_us in single["times_us"]]
                where = {**settings, "buffers": side}
                failure = f"{of['nwrong']:g} wrong elements" if of["nwrong"] else ""
                self._values(where, int(row["size"]), values, lines[0].number, failure)
        self.hosts += [str(device["hostname"]) for device in config["devices"]]
        self.understood = {line.number for line in lines[: text.count("\\n", 0, end) + 1]}

    def _values(
        self,
        settings: Mapping[str, str],
        size: int,
        values: Mapping[str, Sequence[float]],
        line: int,
        failure: str,
        beside: dict[Beside, float] | None = None,
    ) -> None:
        """Add the values for one size, out of place or in place; `beside` belongs to the time."""
        given = [Given(MESSAGE_SIZE, size), *(setting(key, value) for key, value in settings.items())]
        title = f"NCCL {self._test.replace('_', ' ')}"
        summary = f"{self._test} of {self.TITLE}"
        metrics = [_METRICS[one] for one in values]
        case = self.foreign(f"network.nccl_{self._test}", summary, metrics, given, self._ranks, title)
        for one, of in values.items():
            figure = replace(
                case,
                metric=one,
                values=tuple(of),
                statistic="each" if one == "iteration_s" else "mean",
                line=line,
                repetitions=None if one == "iteration_s" else self._iterations,
                beside=beside or {} if one == "time_s" else {},
                failure=failure,
            )
            self.figures.append(figure)


def _printed(cell: str, unit: float) -> float:
    """Return a cell in base units; a number too long for its column has an exponent."""
    return number(cell) * unit if "e" in cell else number(cell, round(math.log10(unit)))


def _seconds(microseconds: float) -> float:
    """Return a time in seconds with its decimal digits unchanged."""
    return number(f"{microseconds:.6f}", -6)
