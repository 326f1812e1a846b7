"""HPCG: the result files of versions 2.4 to 3.1, `name: value` by indentation or `section::name=value`.

GFLOP/s are 10^9 operations / time of all sets of iterations, GB/s 10^9 bytes; the rating includes the overhead of
setting up and optimizing the problem (ReportResults.cpp). Scope does not have a benchmark of the same work.
"""

import re
from dataclasses import dataclass, field

from hpcscope.catalog.benchmark import Benchmark
from hpcscope.exchange.imports import TIME, PrintedFigure, declared, metric, once, parameter
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

BENCHMARK = "application.hpcg"
OFFICIAL_S = 1800
"""Minimum run time of an official result."""
LONGEST = 500
"""Maximum length of a line."""
_GIGA = 9

_TITLE = re.compile(r"(?:HPCG-Benchmark|n\d+-\d+p-\d+t)(?: version: V?(\S+))?\s*$")
"""The title of Intel's version begins with the local size, the processes and the threads."""
_VERSION = re.compile(r"(?:version=)?(\d+\.\d+)$")
_KEYED = re.compile(r"(?P<section>[^=:]+|[^=]+?)(?:::(?P<path>[^=]+))?=(?P<value>.*)$")
_INDENTED = re.compile(r"(?P<indent> *)(?P<name>\S.*?): (?P<value>.*)$")
_VALID = re.compile(r"HPCG result is VALID with a GFLOP/s rating of$")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?(?:e[+-]\d\d)?$")
_FIGURES = {
    ("Benchmark Time Summary", "Total"): ("time_s", 0),
    ("GFLOP/s Summary", "Raw DDOT"): ("ddot_flops_per_s", _GIGA),
    ("GFLOP/s Summary", "Raw WAXPBY"): ("waxpby_flops_per_s", _GIGA),
    ("GFLOP/s Summary", "Raw SpMV"): ("product_flops_per_s", _GIGA),
    ("GFLOP/s Summary", "Raw MG"): ("multigrid_flops_per_s", _GIGA),
    ("GFLOP/s Summary", "Raw Total"): ("raw_flops_per_s", _GIGA),
    ("GB/s Summary", "Raw Total B/W"): ("bandwidth_bytes_per_s", _GIGA),
}
_NUMBERS = {
    "Distributed Processes": "ranks",
    "Threads per processes": "threads",
    **{name: name for name in ("nx", "ny", "nz")},
    "Optimized CG iterations per set": "per_set",
    "Total number of optimized iterations": "iterations",
}
_SECTION = re.compile(
    r"[#*_]+ .* [#*_]+$|Release date|HPCG Benchmark|(?:Machine|Benchmark Time|GB/s|GFLOP/s|Final) Summary$"
    r"|(?:Global Problem|Processor|Local Domain) Dimensions$|Spectral Convergence Tests$|Departure from Symmetry"
    r"|(?:Setup|Linear System|Multigrid|Memory Use|Iteration Count|Reproducibility) Information$"
    r"|Floating Point Operations Summary$|User Optimization Overheads$|DDOT Timing Variations$"
)
_NAME = re.compile(
    r"Distributed Proc|Threads per|Global n[xyz]$|np[xyz]$|n[xyz]$|(?:Lower|Upper) ipz|Setup Time|Number of "
    r"|Coarse Grids|Grid Level|Total memory used|Memory used|Bytes per equation|Result$|Unpreconditioned$"
    r"|Preconditioned$|(?:Maximum|Expected) iteration count|Departure for |Reference (?:CG|version)|Optimized CG"
    r"|Total |Total$|Scaled resid|Optimization phase|DDOT$|WAXPBY$|SpMV$|MG$|Raw |(?:Min|Max|Avg) DDOT"
    r"|ALL_reduce$|Problem setup|HPCG result is|\s*HPCG 2\.4 [Rr]ating|Results are valid but|Official results exec"
    r"|\s*You have selected the QuickPath|\s*After confirmation please|Please (?:review|upload)|You have"
)
_RATES = {
    "flops_per_s": "rating",
    "raw_flops_per_s": "floating-point rate without overhead",
    "ddot_flops_per_s": "rate of dot products",
    "waxpby_flops_per_s": "rate of vector sums",
    "product_flops_per_s": "rate of sparse products",
    "multigrid_flops_per_s": "rate of multigrid",
}
_BENCHMARK = declared(
    BENCHMARK,
    "HPCG",
    "conjugate gradients with multigrid on a sparse system",
    [
        *(metric(name, "flop/s", label, "higher") for name, label in _RATES.items()),
        metric("bandwidth_bytes_per_s", "B/s", "memory bandwidth", "higher"),
        TIME,
    ],
    [
        *(parameter(name, name, [0], role="size") for name in ("nx", "ny", "nz")),
        parameter("threads", "threads", [1], role="parallel"),
    ],
)


@dataclass
class _Reader(LineReader):
    TITLE = "HPCG"
    BEGINS = (_TITLE,)
    CLAIMS = (_TITLE,)

    benchmarks: list[Benchmark] = field(default_factory=lambda: [_BENCHMARK])
    _section: str = ""
    _numbers: dict[str, int] = field(default_factory=dict)
    _printed: dict[str, tuple[float, int]] = field(default_factory=dict)
    """Value and line number by metric."""
    _failure: str = "the output ends before its final summary"

    def _takes(self, line: TextLine) -> bool:
        if title := _TITLE.match(line.text):
            self.versions += [title[1]] if title[1] else []
        elif not self._section and (found := _VERSION.match(line.text)):
            self.versions = [found[1]]
        elif line.ended and (entry := _entry(line.text, self._section)):
            self._section, name, value = entry
            self._note(name, value, line.number)
        else:
            return False
        return True

    def _note(self, name: str, value: str, line: int) -> None:
        """Store the value of a line if needed; for grids, only the local grid, not the multigrid levels."""
        if name in _NUMBERS and value.isdigit():
            self._numbers.setdefault(_NUMBERS[name], int(value))
        elif _VALID.match(name) and _NUMBER.match(value):
            once(self._printed, "flops_per_s", (number(value, _GIGA), line))
            self._failure = ""
        elif name.startswith("HPCG result is"):
            self._failure = f"{name} {value}"
        elif (self._section, name) in _FIGURES and _NUMBER.match(value):
            metric_, exponent = _FIGURES[self._section, name]
            once(self._printed, metric_, (number(value, exponent), line))

    def close(self) -> None:
        """Add the values, once the processes and their grids are known."""
        if self._printed.get("time_s", (OFFICIAL_S, 0))[0] < OFFICIAL_S:
            self.missing.append(f"the run of {OFFICIAL_S:,} s that an official result needs")
        if not {"ranks", "nx", "ny", "nz"} <= self._numbers.keys():
            return
        sets = self._numbers.get("iterations", 0) // (self._numbers.get("per_set") or 1)
        names = ("nx", "ny", "nz", "threads")
        grid = {name: self._numbers[name] for name in names if name in self._numbers}
        for metric_, (value, line) in self._printed.items():
            case = PrintedFigure(BENCHMARK, {**grid}, self._numbers["ranks"], metric_, failure=self._failure)
            if metric_ == "time_s":
                self.add(case, value, line)
            else:
                self.add(case, value, line, "mean", repetitions=sets or None)


def _entry(text: str, section: str) -> tuple[str, str, str] | None:
    """Return section, name and value of a line; None if the line is not from a result file."""
    if len(text) > LONGEST:
        return None
    if (keyed := _KEYED.match(text)) and _SECTION.match(keyed["section"]):
        path = keyed["path"]
        if path is None:
            return keyed["section"], "", keyed["value"]
        name = path.rpartition("::")[2]
        return (keyed["section"], name, keyed["value"]) if _NAME.match(name) else None
    if indented := _INDENTED.match(text):
        name = indented["name"]
        if not indented["indent"]:
            return (name, "", indented["value"]) if _SECTION.match(name) else None
        return (section, name, indented["value"]) if section and _NAME.match(name) else None
    return None
