"""likwid-bench: the summary of a test, `MByte/s:  29809.84`.

Rates are in millions of flops and of bytes per second; bytes are those that the test loads and stores, without
what a cache reads before it writes (bench.c). `Size` is that of all streams together.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hpcscope.catalog.benchmark import Benchmark, Value
from hpcscope.exchange.imports import PrintedFigure, Reading, declared, metric, once, parameter, setting
from hpcscope.exchange.imports.lines import Line, number

TITLE = "likwid-bench"
_NAME = "node.likwid_bench"
_TEST = re.compile(r"Test: (\S+)\s*$")
BEGINS = (_TEST,)
_VALUE = re.compile(r"(?P<key>[A-Z][\w ()./]+):\t+(?P<value>\d+(?:[.,]\d+)?(?:e[+-]\d+)?)(?: sec)?\s*$")
_THREADS = re.compile(r"Using (\d+) threads\s*$")
_SAID = re.compile(
    r"LIKWID MICRO BENCHMARK|Group: \d+ Thread |Allocate: Process |Initialization: |Running without Marker API"
    r"|Warning: Sanitizing vector length|Using \d+ work groups"
)
_METRICS = {
    "MByte/s": (metric("bandwidth_bytes_per_s", "B/s", "bandwidth", "higher"), 6),
    "MFlops/s": (metric("flops_per_s", "flop/s", "arithmetic rate", "higher"), 6),
    "Cycles per update": (metric("cycles_per_update", "1", "cycles per update"), 0),
    "Cycles per cacheline": (metric("cycles_per_line", "1", "cycles per cache line"), 0),
}
_FACTS = {
    *(
        "Time",
        "Size (Byte)",
        "Iterations",
        "Cycles",
        "CPU Clock",
        "Cycle Clock",
        "Iterations per thread",
        "Inner loop executions",
        "Size per thread",
    ),
    *("Number of Flops", "Data volume (Byte)", "Loads per update", "Stores per update", "Load bytes per element"),
    *("Store bytes per elem.", "Load/store ratio", "Instructions", "UOPs"),
}


@dataclass
class Test:
    """What is printed of a test."""

    name: str = ""
    threads: int = 1
    values: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By their keys, with the numbers of their lines."""


def claims(lines: Sequence[Line]) -> bool:
    """Return whether the program's title, or a test and its rate, are among the lines."""
    if any(line.text.strip() == "LIKWID MICRO BENCHMARK" for line in lines):
        return True
    return any(_TEST.match(line.text) for line in lines) and any(
        line.text.startswith("MByte/s:\t") for line in lines
    )


def read(lines: Sequence[Line]) -> Reading:
    """Return the figures of a test."""
    test = Test()
    understood: set[int] = set()
    for line in lines:
        if named := _TEST.match(line.text):
            test.name = named[1]
        elif using := _THREADS.match(line.text):
            test.threads = int(using[1])
        elif test.name and (value := _VALUE.match(line.text)):
            whole = value["key"] in ("Size (Byte)", "Iterations")
            if value["key"] not in (*_METRICS, *_FACTS) or (whole and not value["value"].isdigit()):
                continue
            once(test.values, value["key"], (value["value"], line.number))
        elif not _SAID.match(line.text):
            continue
        understood.add(line.number)
    measured = [key for key in test.values if key in _METRICS]
    return Reading(
        program=TITLE,
        figures=[_figure(test, key) for key in measured],
        understood=understood,
        missing=["the version"],
        benchmarks=[_benchmark(test, key) for key in measured],
    )


def _figure(test: Test, key: str) -> PrintedFigure:
    """Return the figure of a key, with what is known of its test: a file may end before the rest."""
    measured, exponent = _METRICS[key]
    cell, line = test.values[key]
    of: dict[str, Value] = {"test": test.name, "threads": test.threads}
    if size := test.values.get("Size (Byte)"):
        of["size_bytes"] = int(size[0])
    iterations = test.values.get("Iterations")
    value = number(cell) if "e" in cell else number(cell, exponent)
    repetitions = int(iterations[0]) if iterations else None
    return PrintedFigure(_NAME, of, 1, measured.name, (value,), "mean", line, repetitions=repetitions)


def _benchmark(test: Test, key: str) -> Benchmark:
    where = [
        setting("test", test.name, bare=True),
        parameter("threads", "threads", [1], role="parallel"),
        parameter("size_bytes", "size", [0], "B", role="size"),
    ]
    return declared(_NAME, TITLE, f"a loop over streams of {TITLE}", [_METRICS[key][0]], where)
