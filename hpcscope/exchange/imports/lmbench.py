"""lmbench 3: the output of its programs, single or together in a `results` file.

`Simple syscall: 0.1562 microseconds` names the operation. Pairs of numbers follow a heading, often with a leading
quotation mark: sizes in MB and rates in MB/s of 10^6 bytes; for `"stride=`, MiB and nanoseconds; for `"size=`,
numbers of processes and microseconds (lib_timing.c, lat_mem_rd.c, lat_ctx.c). Numbers are medians of the trials,
for `"stride=` minima. Sizes of 1 MB or more have two decimals; a power of two that is printed this way is assumed.
"""

import calendar
import re
import time
from collections.abc import Sequence
from contextlib import suppress

from hpcscope.catalog.benchmark import Metric
from hpcscope.exchange.imports import BANDWIDTH, TIME, Given, metric, parameter, setting
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

_NUMBER = r"\d+(?:[.,]\d+)?"
_NOTE = re.compile(r"\[(.*)\]\s*$")
_VERSION = re.compile(r"\[LMBENCH VERSION: (\S+)\]")
_HOST = re.compile(r"\[HOSTNAME: (\S+)\]")
_DATE = re.compile(r"\[(\w{3} \w{3} +\d+ \d\d:\d\d:\d\d) (?:UTC|GMT) (\d{4})\]")
_TIME = re.compile(rf"(?P<what>[^:]+): (?P<value>{_NUMBER}) (?P<unit>micro|nano)seconds\s*$")
_RATE = re.compile(rf"(?P<what>.+) bandwidth: (?P<value>{_NUMBER}) (?P<unit>[MK])B/sec\s*$")
_PARALLELISM = re.compile(rf"(?P<what>.+) parallelism: (?P<value>{_NUMBER})\s*$")
_TRANSFER = re.compile(rf"Avg xfer: .*, (?P<value>{_NUMBER}) MB/sec\s*$")
_STRIDE = re.compile(r'"stride=(\d+)\s*$')
_CONTEXT = re.compile(rf'"size=(\d+)k ovr={_NUMBER}\s*$')
_FILES = re.compile(r'"File system latency')
_FILE_ROW = re.compile(r"(\d+)k\t(\d+)\t(\d+)\t(\d+)\s*$")
_LOADS = re.compile(r"(Memory|Random) load latency\s*$")
_HEADING = re.compile(
    r'"?(mappings|(?:Memory|Socket|Mmap|read|libc|unrolled)\b.*(?:bandwidth|aligned|parallelism|using .*))\s*$'
)
_PAIR = re.compile(rf"(?P<size>{_NUMBER}) (?P<value>{_NUMBER})(?: MB/sec)?\s*$")
_CLOCK = re.compile(rf"\d+ MHz, {_NUMBER} nanosec clock\s*$")
_OWN = re.compile(
    r"\[lmbench\d|\[LMBENCH VERSION|Simple (syscall|read|write|stat|fstat|open/close): \d"
    r"|Select on \d+ (tcp )?fd's: \d"
    r"|Signal handler |Process fork\+|AF_UNIX sock stream (latency|bandwidth): "
    r"|Pipe (latency|bandwidth): \d"
    r"|(TCP|UDP|RPC/\w+) latency using |TCP/IP connection cost to |Pagefaults on |Protection fault: "
    r"|STREAM2? \w+ (latency|bandwidth): |(integer|int64|float|double) \w+( parallelism)?: "
)
_TABLE = re.compile(r"\s*L M B E N C H\s+\d")
_ACCESS = metric("access_s", "s", "time of a load")
_CREATED = metric("create_per_s", "1/s", "files created", "higher")
_REMOVED = metric("remove_per_s", "1/s", "files removed", "higher")
_NAMED = {"time": TIME, "bandwidth": BANDWIDTH, "parallelism": metric("parallelism", "1", "parallelism", "higher")}


class _Reader(LineReader):
    TITLE = "lmbench"
    BEGINS = (re.compile(r"\[lmbench\d"),)
    CLAIMS = (_OWN, _STRIDE, _CONTEXT)
    REFUSED = {_TABLE: "is the table of lmbench's `make see`; must be a file of lmbench's directory results"}
    LACKS = ("the number of trials",)

    _heading = ""
    """Heading of the following pairs; `stride`, `context` and `files` for pairs with special units."""
    _stride = _kib = 0
    _order = "unknown"

    def _takes(self, line: TextLine) -> bool:
        text = line.text
        if _NOTE.match(text):
            self._note(text)
        elif loads := _LOADS.match(text):
            self._order = "strided" if loads[1] == "Memory" else "random"
        elif stride := _STRIDE.match(text):
            self._heading, self._stride = "stride", int(stride[1])
        elif context := _CONTEXT.match(text):
            self._heading, self._kib = "context", int(context[1])
        elif _FILES.match(text):
            self._heading = "files"
        elif heading := _HEADING.match(text):
            self._heading = heading[1]
        elif pair := _PAIR.match(text):
            return self._pair(pair, line.number)
        elif self._heading == "files" and (row := _FILE_ROW.match(text)):
            given = [_bytes("file_bytes", "file", int(row[1]) * 1024)]
            for measured, cell in ((_CREATED, row[3]), (_REMOVED, row[4])):
                self._add("storage.lmbench_files", measured, "files", float(cell), given, line.number)
        elif found := _TIME.match(text):
            value = number(found["value"], -6 if found["unit"] == "micro" else -9)
            self._named("time", found["what"], value, line.number)
        elif found := _RATE.match(text):
            value = number(found["value"], 6 if found["unit"] == "M" else 3)
            self._named("bandwidth", found["what"], value, line.number)
        elif found := _PARALLELISM.match(text):
            self._named("parallelism", found["what"], number(found["value"]), line.number)
        elif found := _TRANSFER.match(text):
            self._named("bandwidth", "HTTP", number(found["value"], 6), line.number)
        else:
            return _CLOCK.match(text) is not None
        return True

    def _note(self, text: str) -> None:
        if version := _VERSION.match(text):
            self.versions.append(version[1])
        elif host := _HOST.match(text):
            self.hosts.append(host[1])
        elif self.started_unix_s is None and (date := _DATE.match(text)):
            with suppress(ValueError, OverflowError):
                began = time.strptime(f"{date[1]} {date[2]}", "%a %b %d %H:%M:%S %Y")
                self.started_unix_s = float(calendar.timegm(began))

    def _pair(self, pair: re.Match[str], line: int) -> bool:
        value = number(pair["value"])
        if self._heading == "stride":
            array = round(number(pair["size"]) * 2**20 / 512) * 512
            given = [
                _bytes("array_bytes", "array", array),
                _bytes("stride_bytes", "stride", self._stride, "problem"),
                setting("order", self._order),
            ]
            access_s = number(pair["value"], -9)
            self._add("node.lmbench_memory_load", _ACCESS, "dependent loads", access_s, given, line)
        elif self._heading == "context":
            processes = parameter("processes", "processes", [2], role="size")
            given = [Given(processes, int(number(pair["size"])))]
            given.append(_bytes("work_bytes", "work", self._kib * 1024, "problem"))
            switch_s = number(pair["value"], -6)
            self._add("node.lmbench_context_switch", TIME, "context switch", switch_s, given, line)
        elif self._heading == "mappings":
            self._named("time", "mmap", value * 1e-6, line, _size(pair["size"]))
        elif self._heading.endswith("parallelism"):
            self._named("parallelism", self._heading, value, line, _size(pair["size"]))
        elif self._heading and self._heading != "files":
            self._named("bandwidth", self._heading, number(pair["value"], 6), line, _size(pair["size"]))
        else:
            return False
        return True

    def _named(self, title: str, what: str, value: float, line: int, size: int | None = None) -> None:
        """Add the time, bandwidth or parallelism of an operation."""
        measured = _NAMED[title]
        given = [setting("operation", what, bare=True)]
        benchmark = f"node.lmbench_{title}"
        if size is not None:
            benchmark, title = f"{benchmark}_by_size", f"{title} by size"
            given.append(_bytes("size_bytes", "size", size))
        self._add(benchmark, measured, title, value, given, line)

    def _add(
        self, benchmark: str, measured: Metric, title: str, value: float, given: Sequence[Given], line: int
    ) -> None:
        summary = f"{title} by {self.TITLE}"
        case = self.foreign(benchmark, summary, [measured], given, 1, f"{self.TITLE} {title}")
        # lat_mem_rd.c keeps the minimum of the trials, lib_timing.c their median.
        self.add(case, value, line, "minimum" if measured is _ACCESS else "median")


def _bytes(name: str, label: str, value: int, role: str = "size") -> Given:
    return Given(parameter(name, label, [0], "B", role=role), value)


def _size(text: str) -> int:
    """Return a size in MB as bytes: the power of two that is printed this way, else the printed value."""
    printed = number(text)
    for exponent in range(2, 40):
        if printed >= 1 and f"{2**exponent / 1e6:.2f}" == f"{printed:.2f}":
            return int(2**exponent)
    return round(printed * 1e6)
