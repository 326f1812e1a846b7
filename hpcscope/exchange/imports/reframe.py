"""ReFrame: the run report of version 4 (`--report-file`), with the performance variables of each test case.

A variable is `"system:partition:name": [value, reference, lower, upper, unit, ...]`. A value outside its reference
does not count as wrong. The report does not say which direction is better: shorter times and higher rates are
better; for other units, lower is better only if they have an upper but no lower bound.
"""

import math
import re
from collections import defaultdict
from itertools import pairwise
from typing import Any

from hpcscope.exchange.imports import setting
from hpcscope.exchange.imports.objects import Printed, elements, mapping
from hpcscope.exchange.imports.quantities import measured
from hpcscope.exchange.imports.reader import DocumentReader

_NAME = "application.reframe"
_VARIABLE = re.compile(r'\s*"([^":]+:[^":]+:[^":]+)": \[')


class _Reader(DocumentReader):
    TITLE = "ReFrame"
    CLAIMS = (re.compile(r'[ \t{]*"session_info"'),)

    def _document(self, printed: Printed) -> set[int]:
        session = mapping(printed.value, "session_info")
        if not session:
            return set()
        self.versions.append(str(session.get("version", "")))
        if isinstance(moment := session.get("time_start_unix"), (int, float)):
            self.began(moment)
        # A value is on the line of its variable or on the next line.
        lines: dict[str, list[int]] = defaultdict(list)
        for line, following in pairwise(printed.lines):
            if found := _VARIABLE.match(line.text):
                lines[found[1]].append((following if line.text.rstrip().endswith("[") else line).number)
        cases = [case for run in elements(printed.value, "runs") for case in elements(run, "testcases")]
        for case in cases:
            self.hosts += map(str, case.get("job_nodelist") or ())
            for key, value in mapping(case, "perfvalues").items():
                at = lines[key].pop(0) if lines[key] else None
                whole = isinstance(value, list) and len(value) >= 5 and isinstance(value[0], (int, float))
                if at and whole and not isinstance(value[0], bool) and math.isfinite(value[0]):
                    self._variable(case, key, value, at)
        return printed.numbers

    def _variable(self, case: dict[str, Any], key: str, value: list[Any], line: int) -> None:
        where, _, name = key.rpartition(":")
        upper_alone = value[2] is None and value[3] is not None
        metric, basic = measured(repr(value[0]), str(value[4] or ""), "lower" if upper_alone else "higher")
        given = [
            setting("test", str(case.get("display_name") or case.get("name") or "unknown")),
            setting("variable", name),
            setting("partition", where),
            setting("environment", str(case.get("environ") or "unknown")),
        ]
        tasks = case.get("num_tasks")
        ranks = tasks if isinstance(tasks, int) and tasks > 0 else None
        wrong = case.get("result") == "fail" and case.get("fail_phase") != "performance"
        failure = str(case.get("fail_reason") or "failed") if wrong else ""
        of = self.foreign(_NAME, f"a test of {self.TITLE}", [metric], given, ranks)
        self.add(of, basic, line, failure=failure)
