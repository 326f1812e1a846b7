"""STREAM: the tables that stream.c and stream.f print, versions 5.6 to 5.10, and stream_mpi.c 1.8.

A rate is the best of all repetitions but the first; MB are 10^6 bytes; two or three arrays of 8-byte words count
(stream.c 5.10, `SUMMARY`; stream.f says that the last is left out, too, but leaves it in). Threads of OpenMP stand
for ranks: each works on its share of the arrays; so do those of all processes of stream_mpi.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from hpcscope.catalog.benchmark import Benchmark
from hpcscope.exchange.imports import PrintedFigure, Reading, declared, metric, parameter
from hpcscope.exchange.imports.lines import Line, number
from hpcscope.samples.records import Beside

TITLE = "STREAM"
KERNELS = {"Copy": "copy", "Scale": "scale", "Add": "add", "Triad": "triad"}
BENCHMARK = "node.stream"
SINGLE = "node.stream_single"
"""In 4-byte words, which Scope does not measure."""

_TITLE = re.compile(r"\s*STREAM [Vv]ersion \$Revision: (\S+) \$")
_WORD = re.compile(r"(?:.*\D)?(\d+) bytes per (?:array element|DOUBLE PRECISION word)")
_SIZE = re.compile(r"\s*(?:Total Aggregate )?Array size =\s*(\d+)")
_PROCESSES = re.compile(r"Data is distributed across (\d+) MPI ranks")
_REPETITIONS = re.compile(
    r"(?:Each kernel will be executed|Each test is run|\s*You are running each test)\s+(\d+) times"
)
_THREADS = re.compile(r"\s*Number of Threads (?:counted|requested)?(?: for (?:each MPI rank|rank 0))?\s*=\s*(\d+)")
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


@dataclass
class _Run:
    """What one run of the program has printed so far."""

    word_bytes: int | None
    elements: int | None = None
    repetitions: int | None = None
    processes: int = 1
    threads: int = 1
    """Of a process."""
    right: bool = False
    wrong: str = ""
    rows: list[tuple[Line, str, list[float]]] = field(default_factory=list)

    def figures(self) -> Iterator[PrintedFigure]:
        """Yield the rates and the times, once all is known that they depend on."""
        if self.elements is None or self.word_bytes is None:
            return
        ranks = self.processes * self.threads
        for line, kernel, (rate, mean_s, least_s, most_s) in self.rows:
            figure = PrintedFigure(
                benchmark=BENCHMARK if self.word_bytes == 8 else SINGLE,
                parameters={"kernel": kernel, "array_bytes": self.elements * self.word_bytes // ranks},
                ranks=ranks,
                metric="bandwidth_bytes_per_s",
                values=(rate,),
                statistic="maximum",
                line=line.number,
                repetitions=self.repetitions,
                failure=self.wrong or ("" if self.right else "the output ends before its validation"),
            )
            yield figure
            if least_s > 0:
                times: dict[Beside, float] = {"mean": mean_s, "minimum": least_s, "maximum": most_s}
                yield replace(figure, metric="time_s", values=(least_s,), statistic="minimum", beside=times)


def claims(lines: Sequence[Line]) -> bool:
    """Return whether the program's title is among the lines."""
    return any(_TITLE.match(line.text) for line in lines)


def read(lines: Sequence[Line]) -> Reading:
    """Return the figures of all runs."""
    runs: list[_Run] = []
    versions: dict[str, None] = {}
    word_bytes = None
    understood: set[int] = set()
    for line in lines:
        run = runs[-1] if runs else _Run(None)
        if title := _TITLE.match(line.text):
            versions[title[1]] = None
            runs.append(_Run(word_bytes))
            word_bytes = None
        elif word := _WORD.match(line.text):
            if runs and not run.rows:
                run.word_bytes = int(word[1])
            else:
                word_bytes = int(word[1])  # stream.f prints it before its title
        elif runs and (row := _ROW.match(line.text)):
            run.rows.append((line, KERNELS[row[1]], _numbers(row[2])))
            continue
        elif not _state(run, line.text):
            continue
        understood.add(line.number)
    return Reading(
        program=f"{TITLE} {', '.join(versions)}".strip(),
        figures=[one for run in runs for one in run.figures()],
        understood=understood,
        benchmarks=[_single()],
    )


def said(text: str) -> bool:
    """Return whether a line is one that the program prints around its figures."""
    return _SAID.match(text) is not None


def _state(run: _Run, text: str) -> bool:
    """Note what a line says of its run; return whether it says anything."""
    if size := _SIZE.match(text):
        run.elements = int(size[1])
    elif repetitions := _REPETITIONS.match(text):
        run.repetitions = int(repetitions[1]) - 1 or None
    elif processes := _PROCESSES.match(text):
        run.processes = max(1, int(processes[1]))
    elif threads := _THREADS.match(text):
        run.threads = max(1, int(threads[1]))
    elif wrong := _WRONG.match(text):
        run.wrong = run.wrong or wrong[1]
    elif _RIGHT.match(text):
        run.right = True
    else:
        return _SAID.match(text) is not None
    return True


def _numbers(columns: str) -> list[float]:
    rate, *times_s = columns.split()
    return [number(rate, 6), *map(number, times_s)]


def _single() -> Benchmark:
    return declared(
        SINGLE,
        "STREAM in single precision",
        "memory bandwidth of copy, scale, add and triad in 4-byte words",
        [metric("bandwidth_bytes_per_s", "B/s", "bandwidth", "higher"), metric("time_s", "s", "time")],
        [
            parameter("kernel", "kernel", list(KERNELS.values())),
            parameter("array_bytes", "array size", [0], "B", "size"),
        ],
    )
