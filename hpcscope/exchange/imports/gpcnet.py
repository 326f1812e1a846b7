"""GPCNeT: the tables of network_test and network_load_test, versions 1.2 and 1.3, without and with `-DVERBOSE`.

A title, a header (`Name | Avg | 99% | Units`) and a row for each pattern. Times are in microseconds, rates in
MiB/s per rank (2^20 bytes); 99 % of the samples are better than `99%`. Key results are impact factors: the value
with congestors / the value without.
"""

import re
from collections.abc import Sequence

from hpcscope.exchange.imports import TIME, metric, once, setting
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader
from hpcscope.samples.records import Beside

_NAME = "network.gpcnet"
_TITLE = re.compile(r"Network(?: ?Load)? Tests v(\S+)\s*$")
_RANKS = re.compile(r"\s+(?:Load )?Test(?: with)? (\d+) MPI ranks")
_TABLE = re.compile(r"\|\s+((?:Isolated|Network Tests) [^|]*?)\s*\|\s*$")
_CELLS = re.compile(r"\|(?:[^|]+\|){2,}\s*$")
_VALUE = re.compile(r"\d+\.\d+X?$")
_SAID = re.compile(r"\s+(?:Legend|(?:RR|Nat|Lat|BW|BW\+Sync) = |\d+ nodes|\S.* congestor)|\|\s*\|\s+Avg ")
_UNITS = {
    "usec": (TIME, -6, 1),
    "MiB/s/rank": (metric("bandwidth_bytes_per_s", "B/s", "bandwidth of a rank", "higher"), 0, 2**20),
    "X": (metric("impact", "1", "impact of congestion"), 0, 1),
}
_BESIDE: dict[str, Beside] = {"Min": "minimum", "Max": "maximum", "99%": "p99"}


class _Reader(LineReader):
    TITLE = "GPCNeT"
    BEGINS = (_TITLE,)
    CLAIMS = (_TITLE, re.compile(r".*\|\s+Isolated\s+Network\s+Tests"))

    _ranks: int | None = None
    _table = ""
    _heads: Sequence[str] = ()

    def _takes(self, line: TextLine) -> bool:
        cells = [cell.strip() for cell in line.text.strip().strip("|").split("|")]
        if title := _TITLE.match(line.text):
            self.versions.append(title[1])
        elif ranks := _RANKS.match(line.text):
            self._ranks = int(ranks[1])
        elif table := _TABLE.match(line.text):
            self._table, self._heads = " ".join(table[1].split()), ()
        elif cells[0] == "Name":
            # Key results have their column headings on two lines.
            self._heads = cells[1:] if len(cells) > 2 else ("Avg", "99%")
        elif self._heads and _CELLS.match(line.text) and any(map(_VALUE.match, cells)):
            return self._row(cells, line.number)
        else:
            return _SAID.match(line.text) is not None
        return True

    def _row(self, cells: Sequence[str], line: int) -> bool:
        values = dict(zip(self._heads, cells[1:], strict=False))
        unit = values.pop("Units", "X")
        whole = "Avg" in values and len(cells) == len(self._heads) + 1
        if not whole or unit not in _UNITS or not all(map(_VALUE.match, values.values())):
            return False
        once(self.facts, f"{cells[0]} of {self._table}", line)
        of, exponent, factor = _UNITS[unit]
        plain = {head: number(value.removesuffix("X"), exponent) * factor for head, value in values.items()}
        # 99 % of the rates are above the value, a quantile that is not kept here.
        beside = {_BESIDE[head]: value for head, value in plain.items() if head in _BESIDE and unit == "usec"}
        given = [setting("test", cells[0], bare=True), setting("table", self._table, bare=True)]
        case = self.foreign(_NAME, f"a pattern of {self.TITLE}", [of], given, self._ranks)
        self.add(case, plain["Avg"], line, "mean", beside=beside)
        return True
