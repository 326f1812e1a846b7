"""BabelStream: its table and its CSV, versions 3 to 5.

A rate is the best of all repetitions except the first; MBytes are 10^6 bytes, MiBytes 2^20 (main.cpp 5.0, `run`).
The number of threads is not printed, so the array size per rank of Scope is not known, and its values are kept
separate from `node.stream`. The table prints the array size with one decimal.
"""

import re
from dataclasses import dataclass, field, replace

from hpcscope.catalog.benchmark import Benchmark, Value
from hpcscope.exchange.imports import BANDWIDTH, TIME, PrintedFigure, declared, once, parameter
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

BENCHMARK = "node.babelstream"
KERNELS = {"Copy": "copy", "Mul": "scale", "Add": "add", "Triad": "triad", "Dot": "dot", "Nstream": "nstream"}
_UNITS = {"M": 1e6, "Mi": 2.0**20}

_TITLE = re.compile(r"(?:BabelStream|GPU-STREAM)\s*$")
"""The second name was used before version 3.0."""
_VERSION = re.compile(r"Version: (\S+)")
_REPETITIONS = re.compile(r"Running (?:kernels|triad|nstream) (\d+) times")
_PRECISION = re.compile(r"Precision: (float|double)")
_SIZE = re.compile(r"Array size: (\d+[.,]\d) (Mi?)B ")
_HEAD = re.compile(r"Function\s+(Mi?)Bytes/sec")
_CSV_HEAD = re.compile(
    r"function,num_times,n_elements,sizeof,max_(m|mi)bytes_per_sec,min_runtime,max_runtime,avg_runtime"
)
_ROW = re.compile(rf"({'|'.join(KERNELS)})(\s+\d+[.,]\d{{3}}(?:\s+\d+[.,]\d{{5}}){{3}})\s*$")
_CSV_NUMBER = r"(\d+(?:\.\d+)?(?:e[-+]?\d\d)?)"
_CSV_ROW = re.compile(rf"({'|'.join(KERNELS)}),(\d+),(\d+),(4|8)" + f",{_CSV_NUMBER}" * 4 + ",?$")
_WRONG = re.compile(r"(Validation failed on .*)")
_SAID = re.compile(
    r"Implementation: |Total size: |Number of elements: |Init: |Read: |Sum was |Using \w+ device|Driver: "
    r"|phase,n_elements|(?:Init|Read),\d"
)
_BENCHMARK = declared(
    BENCHMARK,
    "BabelStream",
    "memory bandwidth of copy, scale, add, triad and dot product",
    [BANDWIDTH, TIME],
    [
        parameter("kernel", "kernel", list(KERNELS.values())),
        parameter("array_bytes", "array size", [0], "B", "size"),
        parameter("precision", "precision", ["double", "float"]),
    ],
)


@dataclass
class _Reader(LineReader):
    TITLE = "BabelStream"
    BEGINS = (re.compile(r"phase,n_elements"), re.compile(f"{_TITLE.pattern}|{_CSV_HEAD.pattern}"))
    CLAIMS = (_TITLE, _CSV_HEAD)
    LACKS = ("the number of threads",)

    benchmarks: list[Benchmark] = field(default_factory=lambda: [_BENCHMARK])
    _array_bytes: int | None = None
    _precision: str = ""
    _repetitions: int | None = None
    _unit: float | None = None
    _wrong: str = ""

    def _takes(self, line: TextLine) -> bool:
        text = line.text
        if found := _VERSION.match(text):
            self.versions.append(found[1])
        elif self._row(line):
            return True
        elif size := _SIZE.match(text):
            self._array_bytes = round(number(size[1]) * _UNITS[size[2]])
        elif precision := _PRECISION.match(text):
            self._precision = precision[1]
        elif repetitions := _REPETITIONS.match(text):
            self._repetitions = int(repetitions[1]) - 1
        elif head := _HEAD.match(text):
            self._unit = _UNITS[head[1]]
        elif head := _CSV_HEAD.match(text):
            self._unit = _UNITS[head[1].capitalize()]
        elif wrong := _WRONG.match(text):
            self._wrong = self._wrong or wrong[1]
        else:
            return bool(_TITLE.match(text) or _SAID.match(text))
        return True

    def _row(self, line: TextLine) -> bool:
        """Add the rate and the time of a row; return whether it is a row, and the array size is known."""
        if row := _ROW.match(line.text):
            array_bytes, precision, repetitions = self._array_bytes, self._precision, self._repetitions
            rate, least_s, most_s, mean_s = map(number, row[2].split())
        elif line.ended and (row := _CSV_ROW.match(line.text)):
            array_bytes, precision = int(row[3]) * int(row[4]), "double" if row[4] == "8" else "float"
            repetitions = int(row[2]) - 1
            rate, least_s, most_s, mean_s = (float(row[place]) for place in (5, 6, 7, 8))
        else:
            return False
        if array_bytes is None or self._unit is None:
            return False
        kernel = KERNELS[row[1]]
        once(self.facts, kernel, line.number)
        of: dict[str, Value] = {"kernel": kernel, "array_bytes": array_bytes, "precision": precision}
        case = PrintedFigure(BENCHMARK, of, 1, BANDWIDTH.name, repetitions=repetitions)
        times = {"mean": mean_s, "minimum": least_s, "maximum": most_s}
        self.add(case, rate * self._unit, line.number, "maximum")
        self.add(case, least_s, line.number, "minimum", metric=TIME.name, beside=times)
        return True

    def close(self) -> None:
        """Attach the program's validation failure, if any, to each value."""
        self.figures = [replace(figure, failure=self._wrong) for figure in self.figures]
