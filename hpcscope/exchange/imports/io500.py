"""IO500: its results by phase and its score, as printed by the program (2020 and later) and by its shell script.

`[RESULT]  ior-easy-write  6.173493 GiB/s : time 329.228 seconds` is a phase; GiB are 2^30 bytes, as are the GB of
the script, which divides IOR's MiB by 1024; kIOPS are 1000 operations per second. The score is the geometric mean
of the rates. An `[INVALID]` result breaks a rule of the list, such as 300 s of writing. IOR and mdtest, whose
output has more detail, are separate formats.
"""

import re

from hpcscope.catalog.benchmark import Metric
from hpcscope.exchange.imports import BANDWIDTH, TIME, metric, once, setting
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

_NAME = "storage.io500"
_VERSION = re.compile(r"IO500 version (\S+)")
_NUMBER = r"(\d+(?:[.,]\d+)?)"
_PHASE = re.compile(
    r"\s*\[RESULT(?P<invalid>-invalid)?\]\s+(?:(?:BW|IOPS)\s+phase \d+\s+)?(?P<phase>[a-z]+(?:[-_][a-z]+)*)\s+"
    rf"{_NUMBER} (?P<unit>GiB/s|GB/s|kIOPS|kiops)(?:\s*: time\s+{_NUMBER} seconds)?\s*(?P<mark>\[INVALID\])?\s*$"
)
_SCORE = re.compile(
    rf"\s*\[SCORE ?\] Bandwidth {_NUMBER} Gi?B/s\s*: IOPS {_NUMBER} k(?:iops|IOPS)\s*: TOTAL {_NUMBER}"
    r"\s*(?P<mark>\[INVALID\])?\s*$"
)
_SAID = re.compile(r"\[      \]\s+timestamp\s|ERROR INVALID ")
_RATE = metric("operations_per_s", "1/s", "operations per second", "higher")
_TOTAL = metric("score", "1", "score", "higher")


class _Reader(LineReader):
    TITLE = "IO500"
    BEGINS = (_VERSION, re.compile(r"\[RESULT.*\sior.easy.write\s"))
    CLAIMS = (_PHASE, _SCORE)

    def _takes(self, line: TextLine) -> bool:
        if version := _VERSION.match(line.text):
            self.versions.append(version[1])
        elif phase := _PHASE.match(line.text):
            wrong = "the program reports that it is invalid" if phase["mark"] or phase["invalid"] else ""
            name, moved = phase["phase"].replace("_", "-"), phase["unit"].startswith("G")
            value = number(phase[3]) * 2**30 if moved else number(phase[3], 3)
            self._add(name, BANDWIDTH if moved else _RATE, value, line.number, wrong)
            if phase[5]:
                self._add(name, TIME, number(phase[5]), line.number, wrong)
        elif score := _SCORE.match(line.text):
            wrong = "the program reports that it is invalid" if score["mark"] else ""
            self._add("score", BANDWIDTH, number(score[1]) * 2**30, line.number, wrong)
            self._add("score", _RATE, number(score[2], 3), line.number, wrong)
            self._add("score", _TOTAL, number(score[3]), line.number, wrong)
        else:
            return _SAID.match(line.text) is not None
        return True

    def _add(self, phase: str, of: Metric, value: float, line: int, wrong: str) -> None:
        once(self.facts, f"{of.label} of {phase}", line)
        if value <= 0:
            return  # a phase that did not run
        case = self.foreign(_NAME, f"a phase of {self.TITLE}", [of], [setting("phase", phase, bare=True)])
        self.add(case, value, line, failure=wrong)
