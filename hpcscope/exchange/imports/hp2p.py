"""hp2p: its summaries at the end and at each snapshot, over the iterations so far (hp2p_result.c of 4.1).

In each iteration, all processes exchange messages in random pairs. MB are 2^20 bytes. Minimum and
maximum are over the pairs, or over the iterations for bisection bandwidth. The number of processes is the number
of columns of a matrix, which is printed if the output is binary.
"""

import re

from hpcscope.catalog.benchmark import Value
from hpcscope.exchange.imports import TIME, MixedRunsError, declared, metric, once, parameter, setting
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader
from hpcscope.samples.records import Beside

_NAME = "network.hp2p"
_CONFIGURATION = re.compile(r"\s*=== Benchmark configuration ===\s*$")
_SUMMARY = re.compile(r"\s*=== SUMMARY ===\s*$")
_END = re.compile(r"\s*={15}\s*$")
_SETTING = re.compile(
    r"\s*(?:(?P<size>Message size|Number of msg per comm) +: (?P<number>\d{1,12})"
    r"|(?P<key>Build couple algorithm) +: (?P<word>[A-Z]+))\s*$"
)
_COUNT = re.compile(r"\s*Number of iteration +: (\d{1,12})\s*$")
_VALUE = re.compile(r"\s*(Min|Max|Avg|Std) ([a-z]+(?: [a-z]+)?) +: (\d+\.\d\d) (MB/s|us|%)\s*$")
_INFINITE = re.compile(r"\s*\w+ ([a-z]+(?: [a-z]+)?) +: -?(?:inf|nan) ")
_ROW = re.compile(r"(?:\d+\.\d{6}\t)+$")
_SAID = re.compile(
    r"\s*(?:\d+ % done|Writing final result\.\.\.|={31}$|[A-Z][\w. ]+[a-z] +: |(?:time_|max_|output )\w+ +: )"
)
_METRICS = {
    "bandwidth": (metric("bandwidth_bytes_per_s", "B/s", "bandwidth of a pair", "higher"), 0, 2**20),
    "latency": (TIME, -6, 1),
    "bisection bandwidth": (metric("bisection_bytes_per_s", "B/s", "bandwidth of all pairs", "higher"), 0, 2**20),
    "bisection efficiency": (metric("efficiency", "1", "bandwidth, all pairs / one pair", "higher"), -2, 1),
}
_BESIDE: dict[str, Beside] = {"Min": "minimum", "Max": "maximum"}


class _Reader(LineReader):
    """Reader whose values come from the last complete summary of a run."""

    TITLE = "hp2p"
    BEGINS = (_CONFIGURATION,)
    CLAIMS = (_CONFIGURATION, _SUMMARY)

    def __init__(self) -> None:
        super().__init__()
        self._settings: dict[str, str] = {}
        self._count = 0
        self._ranks: int | None = None
        self._open: dict[tuple[str, str], tuple[float, int]] | None = None
        """Values and lines of the summary that is being printed."""
        self._whole: dict[tuple[str, str], tuple[float, int]] = {}

    def _takes(self, line: TextLine) -> bool:
        if _SUMMARY.match(line.text):
            if self._open is not None:
                raise MixedRunsError("their summaries")
            self._open = {}
        elif count := _COUNT.match(line.text):
            if self._open != {} or int(count[1]) < self._count:
                raise MixedRunsError("the number of iterations")
            self._count = int(count[1])
        elif value := _VALUE.match(line.text):
            return self._value(value[1], value[2], value[3], line.number)
        elif self._open is not None and _END.match(line.text):
            self._whole, self._open = self._open, None
        elif said := _SETTING.match(line.text):
            once(self._settings, said["size"] or said["key"], said["number"] or said["word"])
        elif infinite := _INFINITE.match(line.text):
            self.differences[f"{self.TITLE}: {infinite[1]} is left out: it was not finite"] = None
        elif _ROW.match(line.text):
            self._ranks = len(line.text.split())
        else:
            return bool(_SAID.match(line.text) or _CONFIGURATION.match(line.text))
        return True

    def _value(self, which: str, what: str, cell: str, line: int) -> bool:
        if what not in _METRICS or self._open is None:
            return False
        _, exponent, factor = _METRICS[what]
        if (which, what) in self._open:
            raise MixedRunsError(what)
        self._open[which, what] = number(cell, exponent) * factor, line
        return True

    def close(self) -> None:
        """Add the values of the last complete summary."""
        of: dict[str, Value] = {"pairs": self._settings.get("Build couple algorithm", "unknown").lower()}
        numbers = {"message_bytes": "Message size", "messages": "Number of msg per comm"}
        of |= {name: int(self._settings.get(key, "0")) for name, key in numbers.items()}
        where = [
            setting("pairs", str(of["pairs"])),
            parameter("message_bytes", "message size", [0], "B", role="size"),
            parameter("messages", "messages in a row", [0]),
        ]
        for what, (measured, _, _) in _METRICS.items():
            if ("Avg", what) not in self._whole:
                continue
            mean, line = self._whole["Avg", what]
            benchmark = declared(
                _NAME, self.TITLE, f"pairs of ranks, as {self.TITLE} measures them", [measured], where
            )
            beside = {
                name: self._whole[key, what][0] for key, name in _BESIDE.items() if (key, what) in self._whole
            }
            self.add(benchmark, of, self._ranks, mean, line, "mean", beside=beside)
