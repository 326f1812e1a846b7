"""BabelStream: its table and its CSV, versions 3 to 5.

A rate is the best of all repetitions but the first; MBytes are 10^6 bytes, MiBytes 2^20 (main.cpp 5.0, `run`). The
number of threads is not printed: what a rank of Scope would have of the arrays is not known, so that its figures
stand beside those of `node.stream`. The table prints the array with one digit behind the point.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from hpcscope.catalog.benchmark import Benchmark
from hpcscope.exchange.imports import PrintedFigure, Reading, declared, metric, once, parameter
from hpcscope.exchange.imports.lines import Line, number
from hpcscope.exchange.imports.reader import claiming
from hpcscope.samples.records import Beside

TITLE = "BabelStream"
BENCHMARK = "node.babelstream"
KERNELS = {"Copy": "copy", "Mul": "scale", "Add": "add", "Triad": "triad", "Dot": "dot", "Nstream": "nstream"}
_UNITS = {"M": 1e6, "Mi": 2.0**20}

_TITLE = re.compile(r"(?:BabelStream|GPU-STREAM)\s*$")
"""The second one: before 3.0."""
_VERSION = re.compile(r"Version: (\S+)")
_REPETITIONS = re.compile(r"Running (?:kernels|triad|nstream) (\d+) times")
_PRECISION = re.compile(r"Precision: (float|double)")
_SIZE = re.compile(r"Array size: (\d+[.,]\d) (Mi?)B ")
_HEAD = re.compile(r"Function\s+(Mi?)Bytes/sec")
_CSV_HEAD = re.compile(
    r"function,num_times,n_elements,sizeof,max_(m|mi)bytes_per_sec,min_runtime,max_runtime,avg_runtime"
)
BEGINS = (re.compile(r"phase,n_elements"), re.compile(f"{_TITLE.pattern}|{_CSV_HEAD.pattern}"))
_ROW = re.compile(rf"({'|'.join(KERNELS)})(\s+\d+[.,]\d{{3}}(?:\s+\d+[.,]\d{{5}}){{3}})\s*$")
_CSV_NUMBER = r"(\d+(?:\.\d+)?(?:e[-+]?\d\d)?)"
_CSV_ROW = re.compile(rf"({'|'.join(KERNELS)}),(\d+),(\d+),(4|8)" + f",{_CSV_NUMBER}" * 4 + ",?$")
_WRONG = re.compile(r"(Validation failed on .*)")
_SAID = re.compile(
    r"Implementation: |Total size: |Number of elements: |Init: |Read: |Sum was |Using \w+ device|Driver: "
    r"|phase,n_elements|(?:Init|Read),\d"
)


@dataclass
class _Run:
    """What one run of the program has printed so far."""

    array_bytes: int | None = None
    precision: str = ""
    repetitions: int | None = None
    unit: float | None = None
    wrong: str = ""
    figures: dict[str, list[PrintedFigure]] = field(default_factory=dict)
    """By kernel."""


claims = claiming(_TITLE, _CSV_HEAD)


def read(lines: Sequence[Line]) -> Reading:
    """Return the figures of a run."""
    run = _Run()
    version = ""
    understood: set[int] = set()
    for line in lines:
        if found := _VERSION.match(line.text):
            version = found[1]
        elif figures := list(_row(run, line)):
            once(run.figures, str(figures[0].parameters["kernel"]), figures)
        elif not (_TITLE.match(line.text) or _state(run, line.text)):
            continue
        understood.add(line.number)
    return Reading(
        program=f"{TITLE} {version}".strip(),
        figures=[
            replace(printed, failure=run.wrong)
            for printed_figures in run.figures.values()
            for printed in printed_figures
        ],
        understood=understood,
        missing=["the number of threads"],
        benchmarks=[_benchmark()],
    )


def _state(run: _Run, text: str) -> bool:
    """Note what a line says of its run; return whether it says anything."""
    if size := _SIZE.match(text):
        run.array_bytes = round(number(size[1]) * _UNITS[size[2]])
    elif precision := _PRECISION.match(text):
        run.precision = precision[1]
    elif repetitions := _REPETITIONS.match(text):
        run.repetitions = int(repetitions[1]) - 1
    elif head := _HEAD.match(text):
        run.unit = _UNITS[head[1]]
    elif head := _CSV_HEAD.match(text):
        run.unit = _UNITS[head[1].capitalize()]
    elif wrong := _WRONG.match(text):
        run.wrong = run.wrong or wrong[1]
    else:
        return _SAID.match(text) is not None
    return True


def _row(run: _Run, line: Line) -> Iterator[PrintedFigure]:
    """Yield the rate and the time of a row; nothing where it is none, or the size of the arrays is not known."""
    if row := _ROW.match(line.text):
        array_bytes, precision, repetitions = run.array_bytes, run.precision, run.repetitions
        rate, least_s, most_s, mean_s = (number(one) for one in row[2].split())
    elif line.ended and (row := _CSV_ROW.match(line.text)):
        array_bytes, precision = int(row[3]) * int(row[4]), "double" if row[4] == "8" else "float"
        repetitions = int(row[2]) - 1
        rate, least_s, most_s, mean_s = (float(row[place]) for place in (5, 6, 7, 8))
    else:
        return
    if array_bytes is None or run.unit is None:
        return
    figure = PrintedFigure(
        benchmark=BENCHMARK,
        parameters={"kernel": KERNELS[row[1]], "array_bytes": array_bytes, "precision": precision},
        ranks=1,
        metric="bandwidth_bytes_per_s",
        values=(rate * run.unit,),
        statistic="maximum",
        line=line.number,
        repetitions=repetitions,
    )
    times: dict[Beside, float] = {"mean": mean_s, "minimum": least_s, "maximum": most_s}
    yield figure
    yield replace(figure, metric="time_s", values=(least_s,), statistic="minimum", beside=times)


def _benchmark() -> Benchmark:
    return declared(
        BENCHMARK,
        "BabelStream",
        "memory bandwidth of copy, scale, add, triad and dot product",
        [metric("bandwidth_bytes_per_s", "B/s", "bandwidth", "higher"), metric("time_s", "s", "time")],
        [
            parameter("kernel", "kernel", list(KERNELS.values())),
            parameter("array_bytes", "array size", [0], "B", "size"),
            parameter("precision", "precision", ["double", "float"]),
        ],
    )
