"""likwid-bench: the summary of a test, `MByte/s:  29809.84`.

Rates are in millions of flops and of bytes per second; bytes are loaded and stored by the test, without cache
write-allocate traffic (bench.c). `Size` is the size of all streams together.
"""

import re
from dataclasses import dataclass, field

from hpcscope.exchange.imports import BANDWIDTH, Given, metric, once, parameter, setting
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

_NAME = "node.likwid_bench"
_TEST = re.compile(r"Test: (\S+)\s*$")
_VALUE = re.compile(r"(?P<key>[A-Z][\w ()./]+):\t+(?P<value>\d+(?:[.,]\d+)?(?:e[+-]\d+)?)(?: sec)?\s*$")
_THREADS = re.compile(r"Using (\d+) threads\s*$")
_SAID = re.compile(
    r"LIKWID MICRO BENCHMARK|Group: \d+ Thread |Allocate: Process |Initialization: |Running without Marker API"
    r"|Warning: Sanitizing vector length|Using \d+ work groups"
)
_METRICS = {
    "MByte/s": (BANDWIDTH, 6),
    "MFlops/s": (metric("flops_per_s", "flop/s", "arithmetic rate", "higher"), 6),
    "Cycles per update": (metric("cycles_per_update", "1", "cycles per update"), 0),
    "Cycles per cacheline": (metric("cycles_per_line", "1", "cycles per cache line"), 0),
}
_FACTS = {
    *("Time", "Size (Byte)", "Iterations", "Cycles", "CPU Clock", "Cycle Clock", "Iterations per thread"),
    *("Inner loop executions", "Size per thread"),
    *("Number of Flops", "Data volume (Byte)", "Loads per update", "Stores per update", "Load bytes per element"),
    *("Store bytes per elem.", "Load/store ratio", "Instructions", "UOPs"),
}


@dataclass
class _Reader(LineReader):
    TITLE = "likwid-bench"
    BEGINS = (_TEST,)
    CLAIMS = (re.compile(r"\s*LIKWID MICRO BENCHMARK\s*$"), (_TEST, re.compile(r"MByte/s:\t")))
    LACKS = ("the version",)

    _test: str = ""
    _threads: int = 1
    _values: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Values by key, with their line numbers."""

    def _takes(self, line: TextLine) -> bool:
        if named := _TEST.match(line.text):
            self._test = named[1]
        elif using := _THREADS.match(line.text):
            self._threads = int(using[1])
        elif self._test and (value := _VALUE.match(line.text)):
            whole = value["key"] in ("Size (Byte)", "Iterations")
            if value["key"] not in (*_METRICS, *_FACTS) or (whole and not value["value"].isdigit()):
                return False
            once(self._values, value["key"], (value["value"], line.number))
        else:
            return _SAID.match(line.text) is not None
        return True

    def close(self) -> None:
        """Add the values with the known settings of their test; a file may be truncated."""
        iterations = self._values.get("Iterations")
        repetitions = int(iterations[0]) if iterations else None
        size_bytes = parameter("size_bytes", "size", [0], "B", role="size")
        given = [
            setting("test", self._test, bare=True),
            Given(parameter("threads", "threads", [1], role="parallel"), self._threads),
            Given(size_bytes, int(size[0])) if (size := self._values.get("Size (Byte)")) else size_bytes,
        ]
        for key, (cell, line) in self._values.items():
            if key in _METRICS:
                measured, exponent = _METRICS[key]
                value = number(cell) if "e" in cell else number(cell, exponent)
                case = self.foreign(_NAME, f"a loop over streams of {self.TITLE}", [measured], given, 1)
                self.add(case, value, line, "mean", repetitions=repetitions)
