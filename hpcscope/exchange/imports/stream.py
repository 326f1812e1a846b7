"""STREAM: the tables that stream.c and stream.f print, versions 5.6 to 5.10, and stream_mpi.c 1.8.

A rate is the best of all repetitions except the first; MB are 10^6 bytes, over two or three arrays of 8-byte words
(stream.c 5.10, `SUMMARY`; stream.f claims to exclude the last repetition, too, but includes it). OpenMP threads
count as ranks, because each works on its part of the arrays; so do the threads of all processes of stream_mpi.c.
"""

import re
from dataclasses import dataclass, field

from hpcscope.catalog.benchmark import Benchmark
from hpcscope.exchange.imports import BANDWIDTH, TIME, PrintedFigure, declared, once, parameter
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

KERNELS = {"Copy": "copy", "Scale": "scale", "Add": "add", "Triad": "triad"}
BENCHMARK = "node.stream"
SINGLE = "node.stream_single"
"""STREAM in 4-byte words, which Scope does not measure."""

_TITLE = re.compile(r"\s*STREAM [Vv]ersion \$Revision: (\S+) \$")
_WORD = re.compile(r"(?:.*\D)?(\d+) bytes per (?:array element|DOUBLE PRECISION word)")
_FACTS = {
    "bytes of a word": _WORD,
    "array size": re.compile(r"\s*(?:Total Aggregate )?Array size =\s*(\d+)"),
    "processes": re.compile(r"Data is distributed across (\d+) MPI ranks"),
    "repetitions": re.compile(
        r"(?:Each kernel will be executed|Each test is run|\s*You are running each test)\s+(\d+) times"
    ),
    "threads": re.compile(
        r"\s*Number of Threads (?:counted|requested)?(?: for (?:each MPI rank|rank 0))?\s*=\s*(\d+)"
    ),
}
_HEAD = re.compile(r"Function\s+(?:Best )?Rate \(?MB/s\)?")
_ROW = re.compile(r"(Copy|Scale|Add|Triad):((?:\s+\d+[.,]\d+){4})\s*$")
_RIGHT = re.compile(r"\s*Solution Validates")
_WRONG = re.compile(r"\s*(Failed Validation on .*)")
_SAID = re.compile(
    r"Function\s+(?:Best )?Rate|\s*\*+\s*WARNING|WARNING -- The above|For best results, please be sure"
    r"|precision of your system timer|Memory per array|Total memory required|\s*The total memory requirement"
    r"|Total Aggregate [Mm]emory |   (?:Array size|Memory per array|Total memory) per MPI rank"
    r"|The SCALAR value used|Your timer granularity|   \(= \d+ timer ticks"
    r"|\s*Offset     =|\s*(?:the|The) \*best\* time for each|\s*will be used to compute|\s*\*EXCLUDING\*"
    r"|\s*Printing one line per active thread|\s*Your clock granularity|Each test below|   \(= \d+ clock ticks"
    r"|Increase the size of the arrays|you are not getting at least|\s*Double precision appears to have"
    r"|      (?:It appears that you|This version of the code|Reverting to default)"
    r"|     (?:Expected Value|AvgRelAbsErr|For array )"
)
_SINGLE = declared(
    SINGLE,
    "STREAM in single precision",
    "memory bandwidth of copy, scale, add and triad in 4-byte words",
    [BANDWIDTH, TIME],
    [
        parameter("kernel", "kernel", list(KERNELS.values())),
        parameter("array_bytes", "array size", [0], "B", "size"),
    ],
)


@dataclass
class _Reader(LineReader):
    TITLE = "STREAM"
    BEGINS = (
        re.compile(r"\s*Double precision appears to have"),
        re.compile(r"STREAM version "),
        re.compile(r"\s*STREAM Version |This system uses \d+ bytes per"),
    )
    """The first and `STREAM Version` are printed by stream.f, the others by stream.c."""
    CLAIMS = (_TITLE, _HEAD)

    benchmarks: list[Benchmark] = field(default_factory=lambda: [_SINGLE])
    _facts: dict[str, int] = field(default_factory=dict)
    """Numbers printed before the rates; threads are counted per process."""
    _failure: str = "the output ends before its validation"
    _rows: dict[str, tuple[TextLine, list[float]]] = field(default_factory=dict)
    """Line and numbers by kernel."""

    def _takes(self, line: TextLine) -> bool:
        """Read a line; return whether it was understood. Rows count as understood only if `close` can use them."""
        for name, fact in _FACTS.items():
            if found := fact.match(line.text):
                once(self._facts, name, max(1, int(found[1])))
                return True
        if title := _TITLE.match(line.text):
            self.versions.append(title[1])
        elif row := _ROW.match(line.text):
            rate, *times_s = row[2].split()
            once(self._rows, row[1], (line, [number(rate, 6), *map(number, times_s)]))
            return False
        elif wrong := _WRONG.match(line.text):
            self._failure = self._failure if self._failure.startswith("Failed") else wrong[1]
        elif _RIGHT.match(line.text):
            self._failure = self._failure if self._failure.startswith("Failed") else ""
        else:
            return said(line.text)
        return True

    def close(self) -> None:
        """Add the rates and the times."""
        elements, word_bytes = self._facts.get("array size"), self._facts.get("bytes of a word")
        if elements is None or word_bytes is None:
            return
        ranks = self._facts.get("processes", 1) * self._facts.get("threads", 1)
        for kernel, (line, (rate, mean_s, least_s, most_s)) in self._rows.items():
            case = PrintedFigure(
                benchmark=BENCHMARK if word_bytes == 8 else SINGLE,
                parameters={"kernel": KERNELS[kernel], "array_bytes": elements * word_bytes // ranks},
                ranks=ranks,
                metric=BANDWIDTH.name,
                repetitions=self._facts.get("repetitions", 1) - 1 or None,
                failure=self._failure,
            )
            self.add(case, rate, line.number, "maximum")
            if least_s > 0:
                times = {"mean": mean_s, "minimum": least_s, "maximum": most_s}
                self.add(case, least_s, line.number, "minimum", metric=TIME.name, beside=times)


def said(text: str) -> bool:
    """Return whether the program prints such a line around its values."""
    return _SAID.match(text) is not None
