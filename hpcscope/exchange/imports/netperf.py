"""netperf 2: tables of its classic tests, and the output of its output selectors (`-O`, `-o`, `-k`).

A title, `MIGRATED TCP STREAM TEST from A to B`, column headings, and a row; a selector prints columns,
comma-separated values, or lines `THROUGHPUT=941.28`. KBytes to GBytes are powers of 1024, bits powers of 10
(format_number in netlib.c). A transaction is a request and its answer; selectors print the receiver's rate of a
stream (nettest_omni.c). Tables without a title (`-P 0`) name neither test nor unit.
"""

import csv
import re
from dataclasses import dataclass, field

from hpcscope.catalog.benchmark import Metric, Value
from hpcscope.exchange.imports import ANY_SIZE, BANDWIDTH, Given, PrintedFigure, metric, parameter, setting
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

_NAME = "network.netperf"
_TEST = re.compile(
    r"(?:MIGRATED )?(?P<test>[A-Za-z][\w/| ]*?) TEST from \S+ \(.*?\) port \d+ AF_\w+"
    r" to \S+ \(.*?\) port \d+ AF_\w+(?P<options>.*)$"
)
_KEY = re.compile(r"(?P<key>[A-Z][A-Z0-9_]+)=(?P<value>.*)$")
_OF_KEYS = re.compile(r"THROUGHPUT(?:_UNITS)?=")
_WORDS = {"REQUEST/RESPONSE": "RR", "Connect/Request/Response": "CRR", "UNIDIRECTIONAL SEND": "STREAM"}
_SIZES = ("REQUEST_SIZE", "RESPONSE_SIZE", "LOCAL_SEND_SIZE", "REMOTE_SEND_SIZE")
_DIRECTIONS = {"Send": "STREAM", "Receive": "MAERTS", "Send|Recv": "RR", "Connect|Send|Recv": "CRR"}
_UNIT = re.compile(r"(10\^[0369]bits|[KMG]?Bytes) */s")
_UNITS = {f"10^{power}bits": 10**power / 8 for power in (0, 3, 6, 9)}
_UNITS |= {f"{prefix}Bytes": 1024**power for power, prefix in enumerate(("", "K", "M", "G"))}
_RATE = r"(?P<rate>\d+[.,]\d\d)"
_USE = r"(?: +-?\d+[.,]\d+){0,4}\s*$"
"""Columns for CPU utilization and CPU time per unit of work."""
_TIME = r"\d+[.,]\d\d"
_STREAM = re.compile(rf"\s*\d+ +\d+ +(?P<size>\d+) +{_TIME} +{_RATE}{_USE}")
_TRANSACTIONS = re.compile(rf"\s*\d+ +\d+ +(?P<size>\d+) +(?P<response>\d+) +{_TIME} +{_RATE}{_USE}")
_SENT = re.compile(rf"\s*\d+ +(?P<size>\d+) +{_TIME} +\d+ +\d+ +{_RATE}{_USE}")
_RECEIVED = re.compile(rf"\s*\d+ +{_TIME} +\d+ +{_RATE}{_USE}")
_BUFFERS = re.compile(r"\s*\d+ +\d+\s*$")
_HEAD = re.compile(r"[A-Za-z0-9%][\w %/().,#^|-]*$| +[\w%(][\w %/()^|-]*$")
_SAID = re.compile(r"Interim result: |!!!( |$)")
_SENT_RATE = metric("sent_bytes_per_s", "B/s", "bandwidth of the sender", "higher")
_TRANSACTION_RATE = metric("transactions_per_s", "1/s", "transactions", "higher")


@dataclass
class _Reader(LineReader):
    TITLE = "netperf"
    BEGINS = (_TEST,)
    CLAIMS = (_TEST, _OF_KEYS)
    LACKS = ("the version",)

    _test: str = ""
    _options: str = ""
    _unit: float | None = None
    _size: int = 0
    _table: bool = False
    """Whether the run prints a table instead of keys."""
    _heads: list[str] = field(default_factory=list)
    _keys: dict[str, str] = field(default_factory=dict)
    _line: int = 0

    def _takes(self, line: TextLine) -> bool:
        text = line.text
        if title := _TEST.match(text):
            self._test, self._options = title["test"], title["options"]
        elif not line.ended:
            return False  # the last digits may be missing
        elif key := _KEY.match(text):
            if key["key"] in self._keys or self._table:
                self.close()  # a run without a title begins
                self._test, self._options, self._table = "", "", False
            self._keys[key["key"]] = key["value"]
            self._line = line.number
        elif not self._test or _SAID.match(text):
            return bool(self._test)
        elif self._heads and "," in self._heads[0]:
            return self._columns(next(csv.reader([self._heads[0]])), next(csv.reader([text])), line.number)
        elif not re.search(r"\d[.,]\d\d\b", text):
            return self._head(text)
        elif any("Units" in head for head in self._heads):
            starts = [cell.start() for cell in re.finditer(r"\S+", text)]
            cuts = [slice(*ends) for ends in zip(starts, [*starts[1:], None], strict=True)]
            labels = [" ".join(" ".join(head[cut] for head in self._heads).split()) for cut in cuts]
            return self._columns(labels, text.split(), line.number)
        else:
            return self._row(text, line.number)
        return True

    def _head(self, text: str) -> bool:
        """Read a line of column headings, which may have a unit, or the buffer sizes of the other side."""
        if _BUFFERS.match(text):
            return True
        if not _HEAD.match(text):
            return False
        if unit := _UNIT.search(text):
            self._unit = _UNITS[unit[1]]
        self._table = True
        self._heads.append(text)
        return True

    def close(self) -> None:
        """Add the value that a selector printed."""
        keys, self._keys = self._keys, {}
        rate, unit = keys.get("THROUGHPUT", ""), keys.get("THROUGHPUT_UNITS", "").removesuffix("/s")
        if not re.fullmatch(r"\d+[.,]\d+", rate):
            return
        if unit not in (*_UNITS, "Trans"):
            self.missing.append("the unit of the throughput (-k, -o and -O need THROUGHPUT_UNITS)")
            return
        test, sizes = self._name(keys), [int("0" + re.sub(r"\D", "", keys.get(key, ""))) for key in _SIZES]
        if unit == "Trans":
            self._transactions(test, sizes[0], sizes[1], number(rate), self._line)
        else:
            self._add(BANDWIDTH, test, sizes[2] or sizes[3], 0, number(rate) * _UNITS[unit], self._line)

    def _columns(self, labels: list[str], cells: list[str], line: int) -> bool:
        """Read a row of a selector's table, using its column headings."""
        if len(labels) != len(cells) or "Throughput" not in labels:
            return False
        self._heads, self._line = [], line
        known = (label.upper().replace(" ", "_").removesuffix("_BYTES") for label in labels)
        self._keys |= dict(zip(known, cells, strict=True))
        return True

    def _row(self, text: str, line: int) -> bool:
        """Read a row of a classic test."""
        test = self._name({})
        if test.endswith("RR") and (row := _TRANSACTIONS.match(text)):
            self._transactions(test, int(row["size"]), int(row["response"]), number(row["rate"]), line)
        elif self._unit is None or test.endswith("RR"):
            return False
        elif test == "UDP_STREAM" and (row := _SENT.match(text)):
            self._size = int(row["size"])
            self._add(_SENT_RATE, test, self._size, 0, number(row["rate"]) * self._unit, line)
        elif test == "UDP_STREAM" and self._size and (row := _RECEIVED.match(text)):
            self._add(BANDWIDTH, test, self._size, 0, number(row["rate"]) * self._unit, line)
        elif test != "UDP_STREAM" and (row := _STREAM.match(text)):
            self._add(BANDWIDTH, test, int(row["size"]), 0, number(row["rate"]) * self._unit, line)
        else:
            return False
        return True

    def _name(self, keys: dict[str, str]) -> str:
        """Return the test as `-t` names it; an omni test is named by its protocol and direction."""
        if self._test.startswith(("TCP ", "UDP ")):
            return f"{self._test[:3]}_{_WORDS.get(self._test[4:], self._test[4:])}"
        way = _DIRECTIONS.get(keys.get("DIRECTION", self._test.removeprefix("OMNI ")), "")
        return f"{keys['PROTOCOL']}_{way}" if way and "PROTOCOL" in keys else self._test or "unknown"

    def _transactions(self, test: str, request: int, response: int, rate: float, line: int) -> None:
        """Add a transaction rate; single transactions with equal sizes count as one-way latency (RTT/2)."""
        burst = re.search(r"first burst (\d+)", self._options)
        single = not burst or burst[1] == "0"
        if test not in ("TCP_RR", "UDP_RR") or request != response or not request or not rate or not single:
            name = test if single or burst is None else f"{test}, first burst {burst[1]}"
            self._add(_TRANSACTION_RATE, name, request, response, rate, line)
            return
        of: dict[str, Value] = {"protocol": test[:3].lower(), "wait": "blocking", "message_bytes": request}
        if test == "TCP_RR":
            of["nodelay"] = "on" if "nodelay" in self._options else "off"
        else:
            self.differences.append(f"{self.TITLE} UDP_RR: datagrams have no header and are not retransmitted")
        self.add(PrintedFigure("network.latency", of, 2, "latency_s"), 1 / rate / 2, line, "mean")

    def _add(self, measured: Metric, test: str, size: int, response: int, value: float, line: int) -> None:
        """Add a value of netperf's own benchmark."""
        answer = Given(parameter("response_bytes", "answer", [0], "B"), response)
        given = [setting("test", test, bare=True), Given(ANY_SIZE, size), answer]
        summary = f"streams and transactions of {self.TITLE}"
        self.add(self.foreign(_NAME, summary, [measured], given, 2), value, line, "mean")
