"""Extra-P's JSON Lines: one measurement per launch and line; numbers that vary are the model's parameters.

A line is `{"params": {"ranks": 4}, "callpath": "algorithm.cannon", "metric": "time_s", "value": 1.2}`, as in the
documentation of its file formats. Equal parameters on several lines are repetitions. Extra-P needs the same
parameters and points for all series in a file. A rate, which is work / time, is left out if there is a time.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.report.order import is_number
from hpcscope.statistics.summary import Summary

RANKS = "ranks"


def write(runs: Sequence[Run]) -> str:
    """Return the lines of all runs; UsageError if one file cannot hold them."""
    figures = [(run, case) for run in runs for case in run.headlines if _is_written(run, case)]
    varied: dict[str, set[str]] = {}
    for name in dict.fromkeys(case.benchmark for _, case in figures):
        varied[name] = _varied([case for _, case in figures if case.benchmark == name])
    names = sorted(set().union(*varied.values())) or [RANKS]
    for _, summary in figures:
        if missing := [name for name in names if name != RANKS and name not in summary.parameters]:
            other = next(name for name, words in varied.items() if missing[0] in words)
            raise UsageError(
                f"extrap: {summary.benchmark} has no {missing[0]}, which {other} varies: all series need the same "
                f"parameters; choose with --only {summary.benchmark}"
            )
    lines = [line for run, case in figures for line in _lines(run, case, names)]
    _refuse_missing_points(lines)
    return "".join(json.dumps(line) + "\n" for line in lines)


def _is_written(run: Run, case: Summary) -> bool:
    return case.metric == (run.benchmarks.time_metric(case.benchmark) or case.metric)


def _varied(figures: list[Summary]) -> set[str]:
    """Return the names of the numeric parameters that differ between the results."""
    values: dict[str, set[object]] = defaultdict(set)
    for case in figures:
        for name, value in {RANKS: case.ranks, **case.parameters}.items():
            values[name].add(value)
    return {name for name, found in values.items() if len(found) > 1 and all(map(is_number, found))}


def _lines(run: Run, case: Summary, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    values = {RANKS: case.ranks, **case.parameters}
    fixed = {name: value for name, value in case.parameters.items() if name not in names}
    words = [run.benchmarks.described(case.benchmark, fixed), case.transport, str(case.placement)]
    for value in case.launch_medians or [case.estimate.value]:
        yield {
            "params": {name: values[name] for name in names},
            "callpath": "->".join([case.benchmark, ", ".join(words)]),
            "metric": case.metric,
            "value": value,
        }


def _refuse_missing_points(lines: Sequence[dict[str, Any]]) -> None:
    """Refuse what Extra-P would refuse: a call path without a value at a point that others have."""
    points: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        words = (f"{name}={value}" for name, value in line["params"].items())
        points[line["callpath"]].add(" ".join(words))
    everything = set().union(*points.values())
    for path, found in points.items():
        if missing := sorted(everything - found):
            raise UsageError(
                f"extrap: {path}: has no value at {missing[0]}, which other series have: all series need the same"
                " points; choose with --only, such as --only transport=default"
            )
