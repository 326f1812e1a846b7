"""ReFrame: the run report of version 4 (`--report-file`), with the performance variables of each test case.

A variable is `"system:partition:name": [value, reference, lower, upper, unit, ...]`. A value outside its reference
does not count as wrong. The report does not say which direction is better: shorter times and higher rates are
better; for other units, lower is better only if they have an upper but no lower bound.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from hpcscope.catalog.benchmark import Benchmark
from hpcscope.exchange.imports import PrintedFigure, Reading, declared, setting
from hpcscope.exchange.imports.lines import TextLine
from hpcscope.exchange.imports.objects import Printed, elements, mapping, objects
from hpcscope.exchange.imports.quantities import measured

TITLE = "ReFrame"
BEGINS = ()
_NAME = "application.reframe"
_VARIABLE = re.compile(r'\s*"[^":]+:[^":]+:[^":]+": \[')


def claims(lines: Sequence[TextLine]) -> bool:
    """Return whether the lines contain a session object."""
    return any(line.text.lstrip(" \t{").startswith('"session_info"') for line in lines)


def read(lines: Sequence[TextLine]) -> Reading:
    """Return the performance variables of all test cases."""
    reports = [printed for printed in objects(lines) if mapping(printed.value, "session_info")]
    sessions = [mapping(report.value, "session_info") for report in reports]
    cases = [(report, list(_cases(report))) for report in reports]
    found = [pair for report, of in cases for pair in _figures(report, of)]
    moments = [at for session in sessions if isinstance(at := session.get("time_start_unix"), (int, float))]
    return Reading(
        program=f"{TITLE} {', '.join(dict.fromkeys(str(run.get('version', '')) for run in sessions))}".strip(),
        figures=[figure for figure, _ in found],
        understood={line.number for report in reports for line in report.lines},
        benchmarks=[benchmark for _, benchmark in found],
        hosts=list(
            dict.fromkeys(str(host) for _, of in cases for case in of for host in case.get("job_nodelist") or ())
        ),
        started_unix_s=min(moments, default=None),
    )


def _cases(report: Printed) -> Iterator[dict[str, Any]]:
    for run in elements(report.value, "runs"):
        yield from elements(run, "testcases")


def _figures(report: Printed, cases: Sequence[dict[str, Any]]) -> Iterator[tuple[PrintedFigure, Benchmark]]:
    """Yield values and their declarations; a value is on the line of its variable or on the next line."""
    places = [place for place, line in enumerate(report.lines) if _VARIABLE.match(line.text)]
    seen: Counter[str] = Counter()
    for case in cases:
        for key, value in mapping(case, "perfvalues").items():
            of_key = [place for place in places if report.lines[place].text.lstrip().startswith(f'"{key}"')]
            at = of_key[seen[key]] if seen[key] < len(of_key) else None
            seen[key] += 1
            whole = isinstance(value, list) and len(value) >= 5 and isinstance(value[0], (int, float))
            if at is None or not whole or isinstance(value[0], bool) or not math.isfinite(value[0]):
                continue
            line = report.lines[at + report.lines[at].text.rstrip().endswith("[")].number
            yield _figure(case, key, value, line)


def _figure(case: dict[str, Any], key: str, value: list[Any], line: int) -> tuple[PrintedFigure, Benchmark]:
    where, _, name = key.rpartition(":")
    upper_alone = value[2] is None and value[3] is not None
    metric, basic = measured(repr(value[0]), str(value[4] or ""), "lower" if upper_alone else "higher")
    settings = {
        "test": str(case.get("display_name") or case.get("name") or "unknown"),
        "variable": name,
        "partition": where,
        "environment": str(case.get("environ") or "unknown"),
    }
    tasks = case.get("num_tasks")
    wrong = case.get("result") == "fail" and case.get("fail_phase") != "performance"
    figure = PrintedFigure(
        benchmark=_NAME,
        parameters={**settings},
        ranks=tasks if isinstance(tasks, int) and tasks > 0 else None,
        metric=metric.name,
        values=(basic,),
        statistic="each",
        line=line,
        failure=str(case.get("fail_reason") or "failed") if wrong else "",
    )
    where_ = [setting(*pair) for pair in settings.items()]
    return figure, declared(_NAME, TITLE, f"a test of {TITLE}", [metric], where_)
