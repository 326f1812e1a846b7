"""The phases of programs as stacked bars."""

from collections.abc import Iterator

from hpcscope.findings.results import Run
from hpcscope.grouping import grouped
from hpcscope.report.figure import Figure, origins, series_name, table
from hpcscope.report.order import case_key
from hpcscope.report.run.figures.grouping import series_factors
from hpcscope.report.run.figures.stacked import bars, layout
from hpcscope.report.run.results import PHASES, phases
from hpcscope.statistics.summary import Summary

SLOTS = dict(zip(PHASES, (0, 1, 3, 5, 1, 4, 8), strict=True))
"""The style of each phase."""
_MOST_CASES = 24


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield the phases of a program that records at least two."""
    usable = [case for case in run.headlines if case.benchmark == benchmark]
    parts = [case for case in usable if case.metric in phases(run.benchmarks, benchmark)]
    if any(case.metric == "exchange_s" for case in parts):
        parts = [case for case in parts if case.metric != "communicate_s"]  # the sum of others
    names = sorted({case.metric for case in parts}, key=PHASES.index)
    if len(names) < 2:
        return
    groups = list(grouped(sorted(parts, key=case_key), case_key).values())[:_MOST_CASES]
    factors = series_factors([group[0] for group in groups], None)
    labels = [series_name(group[0], factors, run.benchmarks, benchmark) for group in groups]
    yield Figure(
        key=f"{benchmark}-phases",
        title="Phases",
        caption="The fraction of each phase in the sum of all phases; hover texts and the table show times. "
        "Each phase has the longest time of any rank, so the sum of the phases may exceed the time of the case.",
        traces=[
            bars(run.benchmarks.metric_label(name, benchmark), SLOTS[name], labels, _seconds(name, groups))
            for name in names
        ],
        layout=layout(len(groups), "fraction of the phases", share=True),
        table=table([case for group in groups for case in group], factors, run.benchmarks),
        origins=origins(parts),
        wide=True,
    )


def _seconds(name: str, groups: list[list[Summary]]) -> list[float]:
    cases = [next((case for case in group if case.metric == name), None) for group in groups]
    return [case.median if case is not None and case.median is not None else 0.0 for case in cases]
