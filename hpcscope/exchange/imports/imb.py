"""Intel MPI Benchmarks, all programs, versions 3 to 2021.

A section begins with `# Benchmarking PingPong` and `# #processes = 2`; a header and a line for each size follow.
Times are in microseconds: RTT/2 for PingPong; for others, the minimum, the maximum and the mean over ranks of each
rank's mean over the repetitions. Since version 2017, a barrier separates the repetitions of a collective and the
root stays the same; before, repetitions ran back to back with a rotating root
(IMB_bcast.c of 4.0 and 2018). MB are 2^20 bytes up to version 4 and 10^6 bytes from 2018 (IMB_output.c).
"""

import re
from dataclasses import dataclass, field, replace

from hpcscope.catalog.benchmark import Parameter, Value
from hpcscope.exchange.imports import (
    BANDWIDTH,
    MESSAGE_SIZE,
    TIME,
    Given,
    PrintedFigure,
    collective,
    metric,
    once,
    parameter,
    setting,
    slug,
)
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

_TITLE = re.compile(
    r"#\s+(?:Intel|Pallas) ?(?:\(R\) )?MPI Benchmark(?:s| Suite) V?(\d[\w. ]*?), (.+?) part(?:n#-+)?\s*$"
)
"""IMB-IO 2021 prints an `n` instead of a newline."""
_SECTION = re.compile(r"# Benchmarking (Multi-)?(\w+)(?: \((\d+(?: x \d+)*)\))?\s*$")
_PROCESSES = re.compile(r"# #processes = (\d+)(?:; rank order .*| \(threads: (?P<threads>\d+)\))?\s*$")
_ANY_SECTION = re.compile(r"# Benchmarking |# !! Benchmark ")
_GROUPS = re.compile(r"# \( (\d+) groups of (\d+) processes each running simultaneous \)\s*$")
_MODE = re.compile(r"#\s+MODE: ((?:NON-)?AGGREGATE)\s*$")
_HEAD = re.compile(r"\s*(Group\s+)?(#bytes\s+)?#repetitions\s")
_SUMMED = re.compile(r"# MPI_Datatype for reductions\s*:\s*(\w+)")
_DATE = re.compile(r"# Date\s*: (\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4})\s*$")
_OPTIONS = re.compile(r"-(off_cache|root_shift|sync)\s+(\S+)")
_DECIMAL = re.compile(r"\d+[.,]\d\d$")
_SAID = re.compile(r"#(?! !!)|!!!!\s+ALL BENCHMARKS SUCCESSFUL")

_COLUMNS = {
    "t[usec]": TIME,
    "t_avg[usec]": metric("time_s", "s", "time, mean over ranks"),
    "t_min[usec]": metric("fastest_rank_s", "s", "time of the fastest rank"),
    "t_max[usec]": metric("slowest_rank_s", "s", "time of the slowest rank"),
    "t_ovrl[usec]": metric("overlapped_s", "s", "time with computation"),
    "t_pure[usec]": metric("time_s", "s", "time without computation"),
    "t_cpu[usec]": metric("computation_s", "s", "computation"),
    "overlap[%]": metric("overlap_share", "1", "overlap", "higher"),
    "mbytes/sec": BANDWIDTH,
    "msg/sec": metric("message_rate_per_s", "1/s", "message rate", "higher"),
}
_ROOTED = ("Bcast", "Gather", "Gatherv", "Reduce", "Scatter", "Scatterv")
_SUMS = ("Allreduce", "Reduce")
_COLLECTIVES = (*_ROOTED, *_SUMS, "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Barrier")
"""Collectives whose message sizes have the same meaning as in Scope."""
_WINDOW = 64
_WHOLE = ("#bytes", "#repetitions", "group", "msg/sec")
_OFF = ("0", "off", "no", "disable")


@dataclass
class Section:
    """The known settings of the section that is being read."""

    name: str
    version: str
    part: str
    options: dict[str, str]
    groups: int = 1
    ranks: int | None = None
    mode: str = ""
    threads: str = ""
    """Number of communicating threads per process of IMB-MT."""
    grid: str = ""
    """Process grid of a stencil: `2 x 2`."""
    columns: list[str] = field(default_factory=list)
    cases: dict[str, PrintedFigure] = field(default_factory=dict)
    """The case that each column measures."""
    rows: dict[str, int] = field(default_factory=dict)
    """Line number of each row, by what the row measures."""

    @property
    def since_2017(self) -> bool:
        """Whether, by default, a barrier separates repetitions and the root stays the same."""
        leading = re.match(r"\d+", self.version)
        return leading is not None and int(leading[0]) >= 2017

    @property
    def megabyte(self) -> int | None:
        """Number of bytes in an MB; None if not known."""
        leading = re.match(r"\d+", self.version)
        if leading is None or leading[0] == "2017":
            return None
        return 10**6 if self.since_2017 else 2**20


@dataclass
class _Reader(LineReader):
    TITLE = "Intel MPI Benchmarks"
    BEGINS = (_TITLE,)
    ENDS = re.compile(r"# All processes entering MPI_Finalize")
    CLAIMS = (_TITLE, (_SECTION, _HEAD))

    _version: str = ""
    _part: str = ""
    _summed: str = "MPI_FLOAT"
    _options: dict[str, str] = field(default_factory=dict)
    _section: Section | None = None

    def _takes(self, line: TextLine) -> bool:
        text = line.text
        if title := _TITLE.match(text):
            self._version, self._part = title[1], title[2]
            self._options, self._section = {}, None
            self.versions.append(title[1])
        elif section := _SECTION.match(text):
            name = f"{section[1] or ''}{section[2]}"
            self._section = Section(name, self._version, self._part, self._options, grid=section[3] or "")
        elif _ANY_SECTION.match(text):
            self._section = None
            return False
        elif self._section is not None and (processes := _PROCESSES.match(text)):
            self._section.ranks = int(processes[1]) or None
            self._section.threads = processes["threads"] or ""
        elif self._section is not None and (groups := _GROUPS.match(text)):
            self._section.groups, self._section.ranks = int(groups[1]), int(groups[1]) * int(groups[2]) or None
        elif self._section is not None and (mode := _MODE.match(text)):
            self._section.mode = mode[1].lower()
        elif self._section is not None and _HEAD.match(text):
            self._section.columns, self._section.cases, self._section.rows = text.lower().split(), {}, {}
        elif self._section is not None and self._section.columns and text.split()[0].isdigit():
            return self._row(self._section, line)
        elif summed := _SUMMED.match(text):
            self._summed = summed[1]
        elif date := _DATE.match(text):
            self.dated(date[1])
        else:
            self._options.update(_OPTIONS.findall(text) if self._section is None else [])
            return _SAID.match(text) is not None
        return True

    def _row(self, section: Section, line: TextLine) -> bool:
        """Return whether the cells of a row match the header; a truncated line has fewer or shorter cells."""
        cells = line.text.split()
        if len(cells) != len(section.columns) or section.ranks is None:
            return False
        row = dict(zip(section.columns, cells, strict=True))
        if not all(cell.isdigit() if one in _WHOLE else _DECIMAL.match(cell) for one, cell in row.items()):
            return False
        what = " ".join(["size", section.mode, row.get("group", ""), row.get("#bytes", "")])
        once(section.rows, what, line.number)
        # The bandwidth is size / time, with fewer digits than the time.
        timed = any(name.startswith("t") for name in row)
        columns = [name for name in row if name in _COLUMNS and not (timed and name in ("mbytes/sec", "msg/sec"))]
        defects = number(row.get("defects", "0"))
        named = {"#bytes": "message_bytes", "group": "group"}
        where = {name: int(row[column]) for column, name in named.items() if column in row}
        for column in columns:
            case = section.cases.get(column) or self._case(section, column)
            section.cases[column] = case
            value = _value(section, column, row[column])
            if value is None:
                unknown = f"{self.TITLE} {section.version}: bandwidths are left out: MB may be 10^6 or 2^20 bytes"
                self.differences.append(unknown)
                continue
            self.add(
                case,
                value,
                line.number,
                "mean",
                parameters={**case.parameters, **where},
                ranks=section.ranks,
                repetitions=int(row["#repetitions"]) or None,
                failure=f"{defects:g} defects" if defects else "",
            )
        return True

    def _case(self, section: Section, column: str) -> PrintedFigure:
        known = _of_scope(section, column)
        if known is None:
            return self._foreign(section, column)
        if section.name == "Exchange":
            self.differences.append(f"{self.TITLE}: Exchange receives with MPI_Recv, Scope with MPI_Irecv")
        elif section.name in _SUMS and self._summed != "MPI_DOUBLE":
            self.differences.append(f"{self.TITLE}: reductions sum {self._summed}, Scope sums MPI_DOUBLE")
        return known

    def _foreign(self, section: Section, column: str) -> PrintedFigure:
        """Return the case of a column that Scope lacks a benchmark for."""
        part = section.part.removeprefix("MPI-").removeprefix("IMB-").lower()
        part = {"": "", "1": "", "2": "ext_"}.get(part, f"{part}_")
        level = "storage" if part == "io_" else "mpi"
        name = f"{level}.imb_{part}{slug(section.name)}"
        said = {"mode": section.mode, "grid": section.grid, "threads": section.threads}
        given: list[Given | Parameter] = [MESSAGE_SIZE] if "#bytes" in section.columns else []
        given += [setting(key, value) for key, value in said.items() if value]
        if section.groups > 1:
            given.append(Given(parameter("groups", "groups", [1], role="parallel"), section.groups))
        if "group" in section.columns:
            given.append(parameter("group", "group", [0]))
        title = f"IMB {section.name.replace('_', ' ')}"
        summary = f"{section.name} of {self.TITLE}"
        return self.foreign(name, summary, [_COLUMNS[column]], given, section.ranks, title)


def _value(section: Section, column: str, cell: str) -> float | None:
    """Return a cell in the unit of its metric; None if the unit of the cell is not known."""
    if column == "mbytes/sec":
        return number(cell) * section.megabyte if section.megabyte else None
    if column == "overlap[%]":
        return number(cell, -2)
    return number(cell, 0 if column == "msg/sec" else -6)


def _of_scope(section: Section, column: str) -> PrintedFigure | None:
    """Return the Scope case that a column measures; None if Scope does not have it."""
    if section.part != "MPI-1" or section.groups > 1 or "off_cache" in section.options:
        return None
    name = section.name
    if ("#bytes" in section.columns) == (name == "Barrier"):
        return None
    if name == "PingPong" and column == "t[usec]":
        return PrintedFigure("mpi.latency", {}, 2, "latency_s")
    if name == "Sendrecv" and column == "t_max[usec]":
        shift: dict[str, Value] = {"shift": 1, "call": "sendrecv"}
        return PrintedFigure("mpi.shift", shift, section.ranks, "time_s", definition="max_rank")
    if name == "Exchange" and column == "t_max[usec]":
        ring: dict[str, Value] = {"dimensions": 1, "call": "nonblocking"}
        return PrintedFigure("mpi.neighbor_exchange", ring, section.ranks, "time_s", definition="streaming")
    if name == "Uniband" and column in ("mbytes/sec", "msg/sec"):
        benchmark = "mpi.bandwidth" if section.ranks == 2 else "mpi.message_rate"
        return PrintedFigure(benchmark, {"window": _WINDOW}, section.ranks, _COLUMNS[column].name)
    known = collective(f"MPI_{name}") if name in _COLLECTIVES else None
    if known is None:
        return None
    case = PrintedFigure(known, {}, section.ranks, "time_s")
    if name == "Barrier" or not section.since_2017:
        # Repetitions run back to back with a rotating root.
        streaming = name not in _ROOTED and column == "t_max[usec]" and "sync" not in section.options
        return replace(case, definition="streaming") if streaming else None
    if column != "t_avg[usec]" or section.options.get("sync", "1") in _OFF:
        return None
    if name in _ROOTED and section.options.get("root_shift", "0") not in _OFF:
        return None
    return replace(case, definition="mean_rank")
