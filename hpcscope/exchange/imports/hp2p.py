"""hp2p: its summaries at the end and at each snapshot, over the iterations so far (hp2p_result.c of 4.1).

In each iteration, all processes exchange messages in random pairs. MB are 2^20 bytes. Minimum and
maximum are over the pairs, or over the iterations for bisection bandwidth. The number of processes is the number
of columns of a matrix, which is printed if the output is binary.
"""

import re
from dataclasses import dataclass, field

from hpcscope.exchange.imports import ANY_SIZE, TIME, Given, MixedRunsError, metric, once, parameter, setting
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


@dataclass
class _Reader(LineReader):
    """Reader whose values come from the last complete summary of a run."""

    TITLE = "hp2p"
    BEGINS = (_CONFIGURATION,)
    CLAIMS = (_CONFIGURATION, _SUMMARY)

    _settings: dict[str, str] = field(default_factory=dict)
    _count: int = 0
    _ranks: int | None = None
    _open: dict[tuple[str, str], tuple[float, int]] | None = None
    """Values and lines of the summary that is being printed."""
    _whole: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)

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
            self.differences.append(f"{self.TITLE}: {infinite[1]} is left out: it was not finite")
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
        messages = parameter("messages", "messages in a row", [0])
        given = [
            setting("pairs", self._settings.get("Build couple algorithm", "unknown").lower()),
            Given(ANY_SIZE, int(self._settings.get("Message size", "0"))),
            Given(messages, int(self._settings.get("Number of msg per comm", "0"))),
        ]
        for what, (measured, _, _) in _METRICS.items():
            if ("Avg", what) not in self._whole:
                continue
            mean, line = self._whole["Avg", what]
            beside = {
                name: self._whole[key, what][0] for key, name in _BESIDE.items() if (key, what) in self._whole
            }
            summary = f"pairs of ranks, as {self.TITLE} measures them"
            case = self.foreign(_NAME, summary, [measured], given, self._ranks)
            self.add(case, mean, line, "mean", beside=beside)
