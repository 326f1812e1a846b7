"""perftest (`ib_write_bw`, `ib_send_lat`, ...): its tables, and its JSON (`--out_json`).

A title, `RDMA_Write BW Test`, settings, column headings and a line for each size. MB means MiB, whatever older
versions print, and Gb is 10^9 bits; the average is over all iterations, the peak over the best stretch. Latencies
are in microseconds: RTT/2, or the whole RTT for reads and atomics; `t_typical` is their median
(perftest_parameters.c). The JSON lacks the unit, which is inferred from the message rate.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hpcscope.exchange.imports import BANDWIDTH, MESSAGE_SIZE, Given, metric, setting
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader
from hpcscope.samples.records import Beside

_NAME = "network.perftest"
_TEST = re.compile(
    r"\s*(?:\"test\": \")?((?:RDMA_|Atomic|Send|Raw|WriteImm|Write)[\w -]*?)[ _](BW|Latency)[ _]Test(?:\",)?\s*$"
)
_SETTING = re.compile(r"\s*([A-Z][\w .*-]*?)\s*: (\S+)")
_JSON = re.compile(r'\s*"([\w%.]+(?: [\w ]+)?)": "?([^",]*)"?,?\s*$')
_SAID = re.compile(
    r"\s*(local|remote) address: |\s*GID: |\s*(\"test_info\"|\"results\"): \{|[{}],?\s*$| ethernet_read_keys"
)
_HEAD = re.compile(r"\s*#bytes\s")
_COLUMNS = re.compile(
    r"#bytes|#sl|#iterations|BW \w+\[\w+/sec\]|MsgRate \w+\[Mpps\]|MsgRate\[Mpps\]|t_\w+\[usec\]"
    r"|99(?:\.9)?% percentile\[usec\]|tps average|CPU_Util\[%+\]"
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?$")
_MIB, _GBIT = 2**20, 10**9 / 8
_UNITS = {"MB": _MIB, "MiB": _MIB, "Gb": _GBIT}
_WANTED = {
    "Connection type": "connection",
    "Connection_type": "connection",
    "Number of qps": "queue_pairs",
    "Number_of_qps": "queue_pairs",
    "Link type": "link",
    "Link_type": "link",
}
_METRICS = {
    "bandwidth_bytes_per_s": BANDWIDTH,
    "peak_bytes_per_s": metric("peak_bytes_per_s", "B/s", "peak bandwidth", "higher"),
    "message_rate_per_s": metric("message_rate_per_s", "1/s", "message rate", "higher"),
    "time_s": metric("time_s", "s", "latency"),
}
_BESIDE: dict[str, Beside] = {
    "t_min": "minimum",
    "t_max": "maximum",
    "t_avg": "mean",
    "99% percentile": "p99",
    "percentile_99": "p99",
}


@dataclass
class _Reader(LineReader):
    TITLE = "perftest"
    BEGINS = (_TEST,)
    CLAIMS = ((_TEST, _HEAD), (_TEST, re.compile(r'.*"MsgSize":')))
    LACKS = ("the version",)

    _settings: dict[str, str] = field(default_factory=dict)
    _columns: Sequence[str] = ()
    _unit: float | None = None
    _results: dict[str, str] = field(default_factory=dict)
    """Values of the JSON object that is being read."""
    _line: int = 0

    def _takes(self, line: TextLine) -> bool:
        text = line.text
        if test := _TEST.match(text):
            self._settings = {"test": f"{test[1].replace('_', ' ')} {test[2]}"}
        elif _HEAD.match(text):
            columns = [title.partition("[")[0] for title in _COLUMNS.findall(text)]
            self._columns = columns if {"#bytes", "#iterations"} <= set(columns) else []
            unit = re.search(r"BW average\[(\w+)/sec\]", text)
            self._unit = _UNITS.get(unit[1]) if unit else None
        elif self._columns and text.split()[0].isdigit():
            cells = text.split()
            if len(cells) != len(self._columns) or not all(_NUMBER.match(cell) for cell in cells):
                return False
            row = dict(zip(self._columns, cells, strict=True))
            if not (row["#bytes"].isdigit() and row["#iterations"].isdigit()):
                return False
            self._row(row, line.number)
        elif one := _JSON.match(text):
            self._json(one[1], one[2], line.number)
        elif self._settings and not self._columns and (found := _SETTING.findall(text)):
            self._settings |= {_WANTED[key]: value for key, value in found if key in _WANTED}
        else:
            return _SAID.match(text) is not None
        return True

    def close(self) -> None:
        """Add the values of the JSON object that was read."""
        row, self._results = self._results, {}
        if all(row.get(column, "").isdigit() for column in ("MsgSize", "n_iterations")):
            size, rate = int(row["MsgSize"]), row.get("MsgRate")
            self._unit = _unit(size, rate, row.get("BW_average"))
            names = {"MsgSize": "#bytes", "n_iterations": "#iterations", "BW_peak": "BW peak"}
            names["BW_average"] = "BW average"
            self._row({names.get(key, key): cell for key, cell in row.items()}, self._line)

    def _json(self, key: str, value: str, line: int) -> None:
        if key in _WANTED and value:
            self._settings[_WANTED[key]] = value
        elif key in ("MsgSize", "n_iterations", "BW_peak", "BW_average", "MsgRate", "t_typical", *_BESIDE):
            if key == "MsgSize":
                self.close()
                self._line = line
            if _NUMBER.match(value):
                self._results[key] = value

    def _row(self, row: dict[str, str], line: int) -> None:
        values: dict[str, float] = {}
        if self._unit is not None:
            rates = {"BW average": "bandwidth_bytes_per_s", "BW peak": "peak_bytes_per_s"}
            values |= {name: number(row[key]) * self._unit for key, name in rates.items() if key in row}
        elif "BW average" in row:
            self.differences.append(f"{self.TITLE}: bandwidths whose unit is not known are left out")
        if "MsgRate" in row:
            values["message_rate_per_s"] = number(row["MsgRate"], 6)
        beside = {name: number(row[key], -6) for key, name in _BESIDE.items() if key in row}
        if "t_typical" in row:
            values["time_s"] = number(row["t_typical"], -6)
        elif "mean" in beside:
            values["time_s"] = beside["mean"]
        given = [Given(MESSAGE_SIZE, int(row["#bytes"]))]
        given += [setting(key, said, bare=key == "test") for key, said in self._settings.items()]
        for name, value in values.items():
            case = self.foreign(_NAME, f"an operation of RDMA by {self.TITLE}", [_METRICS[name]], given, 2)
            median = name == "time_s" and "t_typical" in row
            further = {"repetitions": int(row["#iterations"]) or None, "beside": beside if median else {}}
            self.add(case, value, line, "median" if median else "mean", **further)


def _unit(size: int, rate: str | None, bandwidth: str | None) -> float | None:
    """Return the unit of a bandwidth that agrees with the message rate; None if both or neither agree."""
    if rate is None or bandwidth is None or number(bandwidth) == 0:
        return None
    bytes_per_s = size * number(rate, 6)
    fitting = [unit for unit in (_MIB, _GBIT) if abs(bytes_per_s - number(bandwidth) * unit) <= 0.01 * unit]
    near = [unit for unit in (_MIB, _GBIT) if abs(bytes_per_s / (number(bandwidth) * unit) - 1) < 0.05]
    chosen = fitting or near
    return chosen[0] if len(chosen) == 1 else None
