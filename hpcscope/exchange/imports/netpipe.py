"""NetPIPE 3 and 5: the printed output, and the files `np.out`.

Version 3 prints `12: 512 bytes 20 times --> 850.12 Mbps in 4.59 usec` and writes size, rate and seconds; the time
is the best trial, and an Mbit is 2^20 bits (netpipe.c). Version 5 prints `512 B 20 times --> 850.123 Mbps in
4.823 usecs` and writes size, mean, worst and best rate, and microseconds; the time is the mean over the trials,
and an Mbit is 10^6 bits. In both, the time is the one-way latency (RTT/2), or the time of one message for streams
and for both directions at once. `np.out` has neither version nor mode; its columns are consistent with only one
of the two versions.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hpcscope.exchange.imports import BANDWIDTH, MESSAGE_SIZE, Given, PrintedFigure, metric, setting
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

_SIZE = "message_bytes"
_NUMBER = r"\d+[.,]\d+"
_PRINTED_3 = re.compile(
    rf"\s*(?:\d+:)?\s+(?P<size>\d+) bytes\s+(?P<n>\d+) times -->\s+(?P<rate>{_NUMBER}) (?P<unit>Mbps|MBps) in"
    rf"\s+(?P<time>\d+[.,]\d\d) usec\s*$"
)
_PRINTED_5 = re.compile(
    rf"\s*(?:\d+:)?\s+(?P<size>{_NUMBER}|\d+)\s+(?P<prefix>[KMG]?)B\s+(?P<n>\d+) times -->\s+(?P<rate>{_NUMBER})"
    rf" (?P<unit>[KMG]?)bps\s+in\s+(?P<time>{_NUMBER}) (?P<second>n|u|m|)secs\s*$"
)
_WRITTEN_3 = re.compile(r"\s*(?P<size>\d+) (?P<rate>\d+[.,]\d{6})\s+(?P<time>\d+[.,]\d{8})\s*$")
_WRITTEN_5 = re.compile(
    r"\s*(?P<size>\d+)\s+(?P<rate>\d+[.,]\d{3})(?:\s+\d+[.,]\d{3}){2}\s+(?P<time>\d+[.,]\d\d)\s*$"
)
_MODES = {
    "Streaming ": "stream",
    "Passing data in both directions": "both_ways",
    "Bidirectional mode": "both_ways",
    "Preposting asynchronous receives": "preposted",
    "Using MPI_SSend": "synchronous",
    "Using synchronous sends": "synchronous",
}
_TRANSPORTS = {"Send and receive buffers are": "tcp", "Testing memory": "memory"}
_SAID = re.compile(
    r"Sending output to|Saving output to|Now starting the main loop|\(A bug in Linux|Start testing with"
    r"|Completed with|Using a (constant|perturbation)|NOTE: Be |\s*Clock resolution|Output is for the combined"
    r"|The output shows the combined|\s*Streaming does not|measurement of the latency|\s*of the latency since"
    r"|messages may get|MPI implementations do not|You may need to run using|Setting --async"
)
_PROCESS = re.compile(r"\d+: \S+$")
"""Line with the host of a process, which only the MPI program of version 3 prints."""
_PREFIXES = {"": 0, "K": 3, "M": 6, "G": 9}
_SECONDS = {"": 0, "m": -3, "u": -6, "n": -9}


@dataclass
class Preamble:
    """Settings printed before the values."""

    said: bool = False
    mode: str = "ping_pong"
    transport: str = "unknown"
    rows: bool = False
    """Whether values have been read."""


@dataclass
class _Reader(LineReader):
    TITLE = "NetPIPE"

    _settings: Preamble = field(default_factory=Preamble)

    @classmethod
    def claims(cls, lines: Sequence[TextLine]) -> bool:
        """Return whether the lines contain NetPIPE's printed output, or most of them are from `np.out`."""
        if any(_PRINTED_3.match(line.text) or _PRINTED_5.match(line.text) for line in lines):
            return True
        written = sum(_written(line.text) is not None for line in lines)
        return written > len(lines) / 2

    def _takes(self, line: TextLine) -> bool:
        if found := _found(line.text):
            version, row = found
            self.versions.append(version)
            self._settings.rows = True
            # Rows of `np.out` do not identify their program, whatever precedes them.
            of = self._settings if "n" in row.groupdict() else Preamble()
            if not of.said:
                self.missing.append("the transport and the mode (np.out has neither)")
            self._row(of, version, row.groupdict(), line.number)
            return True
        settings = Preamble() if self._settings.rows else self._settings
        if mode := next((mode for words, mode in _MODES.items() if line.text.startswith(words)), ""):
            settings.mode = mode
        elif transport := next((way for words, way in _TRANSPORTS.items() if line.text.startswith(words)), ""):
            settings.transport = transport
        elif _PROCESS.match(line.text):
            settings.transport = "mpi"
            self.hosts.append(line.text.partition(": ")[2])
        elif not _SAID.match(line.text):
            return False
        settings.said, self._settings = True, settings
        return True

    def _row(self, settings: Preamble, version: str, cells: Mapping[str, str], line: int) -> None:
        """Add the time and the rate of a row."""
        best = version == "3"
        if best:
            self.differences.append(f"{self.TITLE} 3: the time is from the best trial")
            size, seconds = int(cells["size"]), number(cells["time"], -6 if "unit" in cells else 0)
            rate = number(cells["rate"]) * (2**20 if cells.get("unit") == "MBps" else 2**17)
        elif "prefix" in cells:
            size = round(number(cells["size"], _PREFIXES[cells["prefix"]]))
            if cells["prefix"] in ("M", "G"):
                self.differences.append(f"{self.TITLE} 5: sizes of 1 MB and more are printed with three decimals")
            seconds = number(cells["time"], _SECONDS[cells["second"]])
            rate = number(cells["rate"], _PREFIXES[cells["unit"]]) / 8
        else:
            size, seconds, rate = int(cells["size"]), number(cells["time"], -6), number(cells["rate"], 9) / 8
        case = self._case(settings, size)
        self.add(case, seconds, line, "minimum" if best else "mean")
        self.add(case, rate, line, "maximum" if best else "mean", metric=BANDWIDTH.name)

    def _case(self, settings: Preamble, size: int) -> PrintedFigure:
        """Return the case of a row, with the metric of its time: Scope's case, else NetPIPE's own."""
        if settings.mode == "ping_pong" and settings.transport == "mpi":
            return PrintedFigure("mpi.latency", {_SIZE: size}, 2, "latency_s")
        if settings.mode == "ping_pong" and settings.transport == "tcp":
            # The program sets TCP_NODELAY, and its reads wait in the kernel.
            way = {"protocol": "tcp", "wait": "blocking", "nodelay": "on"}
            return PrintedFigure("network.latency", {**way, _SIZE: size}, 2, "latency_s")
        said = {"transport": settings.transport, "mode": settings.mode if settings.said else "unknown"}
        of = [metric("time_s", "s", "time of a message"), BANDWIDTH]
        given = [Given(MESSAGE_SIZE, size), *(setting(key, value) for key, value in said.items())]
        summary = f"the exchange of messages of {self.TITLE}"
        return self.foreign("network.netpipe", summary, of, given, 1 if settings.transport == "memory" else 2)


def _found(text: str) -> tuple[str, re.Match[str]] | None:
    """Return the version and the cells of a line; None if it is not a row."""
    if row := _PRINTED_3.match(text):
        return "3", row
    if row := _PRINTED_5.match(text):
        return "5", row
    return _written(text)


def _written(text: str) -> tuple[str, re.Match[str]] | None:
    """Return the version of `np.out` and the cells of a line; None if the cells do not fit a version."""
    if (row := _WRITTEN_3.match(text)) and _agree(row, 2**20 / 8, 1e-6, 1.0, 1e-8):
        return "3", row
    if (row := _WRITTEN_5.match(text)) and _agree(row, 1e9 / 8, 1e-3, 1e-6, 1e-2):
        return "5", row
    return None


def _agree(row: re.Match[str], unit: float, rate_step: float, second: float, time_step: float) -> bool:
    """Return whether size = rate x time, within the precision of the printed digits."""
    size, rate, time = int(row["size"]), number(row["rate"]), number(row["time"])
    least = (rate - rate_step) * (time - time_step)
    most = (rate + rate_step) * (time + time_step)
    return least * unit * second <= size <= most * unit * second
