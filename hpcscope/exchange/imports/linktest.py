"""LinkTest 1 of FZ Jülich: ping-pongs of all pairs of ranks, in both directions (mpilinktest.c of 1.2).

A time is the one-way latency (RTT/2), averaged over a pair's iterations. Minimum, maximum and mean are over pairs.
All ranks exchange at the same time, in pairs, or with `-S 1` one pair at a time. Then the slowest pairs exchange
again, one after another (`-Z`): the printed mean is their sum / the number of ranks, not of pairs. Each rank
prints its own pairs, possibly after the results.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hpcscope.exchange.imports import MESSAGE_SIZE, TIME, Given, MixedRunsError, once, parameter, setting
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader
from hpcscope.samples.records import Beside

_NAME = "network.linktest"
_FIRST = re.compile(r"timings\[\d+\] \[first sync\]")
_RANKS = re.compile(r"linktest: Number of MPI-Task: ")
_SETTING = re.compile(
    r"linktest: (Number of MPI-Task|Message length|Number of Iteration|serial test|max stest): +(\d{1,9})"
    r"(?: Bytes)?\s*$"
)
_TIME = r"(\d+\.\d+)us \( *\d+\.\d\d MB/s\)"
_RESULT = re.compile(rf"RESULT: (Min|Max|Avg) Time( Stest)?: +{_TIME} \[iter +(\d+) \]\s*$")
_PAIR = re.compile(rf" *(\d{{1,9}})-> *(\d{{1,9}}): *{_TIME} \(l=\d+\)\s*$")
_AGAIN = re.compile(rf" *\d+: PINGPONG +(\d+)  <-> +(\d+): +1st: +{_TIME} +2nd: +{_TIME}\s*$")
_RESTART = re.compile(r"LINKTEST\[ *(\d{1,9})\]: end test not reached: ")
_HOST = re.compile(r"task(?:\[\d+\] )?on (\S+) \(")
_STEP = re.compile(r" *(?:Parallel PingPong for step +\d+: +)?avg= *\d|analyse summary: ")
_SAID = re.compile(
    r"timings\[|linktest: |timing summary: |OUTPUT: |Starting Test of all| *Serial +PingPong for step"
    r"| *\d+: starting collect|PE(?:\[\d+\] |\d+: )?(?:psum|disp)| *\.\.\. after |RESULT: .* Stest: "
)
_SECOND = re.compile(r"Aggregated Results: +min: |Parallel Results for step +\d+: +min: ")
_BESIDE: dict[str, Beside] = {"Min": "minimum", "Max": "maximum"}
_SLOWEST = "slowest pairs again"
_NEEDED = {"Number of MPI-Task", "Message length", "Number of Iteration", "serial test"}


@dataclass
class _Reader(LineReader):
    TITLE = "LinkTest"
    BEGINS = (_FIRST, _RANKS)
    CLAIMS = (_RANKS, _RESULT)
    REFUSED = {
        _SECOND: "LinkTest 2 is not read: its results do not say the message size and the number of ranks",
    }

    _settings: dict[str, int] = field(default_factory=dict)
    _beside: dict[tuple[str, str], dict[Beside, float]] = field(default_factory=dict)
    _iteration: str = ""
    _serial: Counter[str] = field(default_factory=Counter)
    _restarts: set[str] = field(default_factory=set)

    def _takes(self, line: TextLine) -> bool:
        if said := _SETTING.match(line.text):
            once(self._settings, said[1], int(said[2]))
        elif result := _RESULT.match(line.text):
            return self._result(result, line.number)
        elif pair := _PAIR.match(line.text):
            self._serial[f"{pair[1]}->{pair[2]}"] += 1
            return self._test == "serial" and self._pair("serial", pair[1], pair[2], pair[3], line.number)
        elif again := _AGAIN.match(line.text):
            sender, receiver, first, second = again.groups()
            once(self.facts, f"{sender} <-> {receiver} of iteration {self._iteration}", line.number)
            # A serial test prints the first time on a separate line, with one more digit.
            known = self._test == "serial" or self._pair(self._test, sender, receiver, first, line.number)
            return known and self._pair(_SLOWEST, sender, receiver, second, line.number)
        elif restart := _RESTART.match(line.text):
            self._restarts.add(restart[1])
        elif host := _HOST.match(line.text):
            self.hosts.append(host[1])
        elif _STEP.match(line.text):
            self.differences.append(f"{self.TITLE}: values of single steps are left out")
        else:
            return _SAID.match(line.text) is not None
        return True

    @property
    def _test(self) -> str:
        return "serial" if self._settings.get("serial test") else "parallel"

    def _result(self, result: re.Match[str], line: int) -> bool:
        which, again, cell, iteration = result.groups()
        once(self.facts, f"{which} Time{again or ''} of iteration {iteration}", line)
        self._iteration = iteration
        beside = self._beside.setdefault((again, iteration), {})
        if which in _BESIDE:
            beside[_BESIDE[which]] = number(cell, -6)
            return True
        if again and self._settings.get("max stest") != self._settings.get("Number of MPI-Task"):
            unknown = f"the mean of the slowest pairs is left out: {self.TITLE} miscomputes it"
            self.differences.append(f"{self.TITLE}: {unknown}")
            return True
        return self._add(_NAME, _SLOWEST if again else self._test, {}, cell, line, beside=beside)

    def _pair(self, test: str, sender: str, receiver: str, cell: str, line: int) -> bool:
        ends = {"sender": int(sender), "receiver": int(receiver)}
        if sender == receiver or max(ends.values()) >= self._settings.get("Number of MPI-Task", 0):
            return False
        iterations = self._settings.get("Number of Iteration")
        return self._add(f"{_NAME}_pair", test, ends, cell, line, repetitions=iterations)

    def _add(self, name: str, test: str, ends: Mapping[str, int], cell: str, line: int, **further: Any) -> bool:
        """Add the time of one pair or of all pairs; return whether the settings of its test were printed."""
        if not self._settings.keys() >= _NEEDED:
            return False
        given = [
            Given(MESSAGE_SIZE, self._settings["Message length"]),
            setting("test", test, bare=True),
            Given(parameter("messages", "messages in a row", [1]), self._settings["Number of Iteration"]),
            *(Given(parameter(end, end, [0]), rank) for end, rank in ends.items()),
        ]
        summary = f"pairs of ranks, as {self.TITLE} measures them"
        case = self.foreign(name, summary, [TIME], given, self._settings["Number of MPI-Task"])
        self.add(case, number(cell, -6), line, "mean", **further)
        return True

    def close(self) -> None:
        """Refuse pairs of several runs; one run prints each pair once per iteration."""
        if any(count > 1 + len(self._restarts) for count in self._serial.values()):
            raise MixedRunsError("pairs")
