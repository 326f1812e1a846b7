"""Opening and closing a file takes much of the time in which it is read or written."""

from math import inf

from hpcscope import units
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.findings.run.storage.file_cases import LEVEL, where
from hpcscope.findings.run.two_hosts import figures_by_case, lower, upper
from hpcscope.statistics.summary import Summary

PHASES = ("open_s", "close_s")
AT_LEAST = 0.25
"""Least fraction of the time."""
WORTH_S = 1e-3
"""Shorter opens do not matter to a program that moves data."""


def find(run: Run) -> list[Finding]:
    """Find for each benchmark and interface the case with the largest fraction of open and close time."""
    opening = []
    for figures in figures_by_case(run, PHASES[0]):
        total = figures.get("time_s")
        if total is None or run.benchmark(total).level != LEVEL or run.shares_processors(total):
            continue
        least_s = sum(lower(figures[name]) for name in PHASES if name in figures)
        share = least_s / (upper(total) or inf)
        if share >= AT_LEAST and least_s >= WORTH_S:
            opening.append((share, (total.benchmark, total.parameters.get("interface")), figures))
    worst = largest_of_each(opening, lambda one: one[1], lambda one: one[0])
    return [_finding(run, figures) for _, _, figures in worst]


def _finding(run: Run, figures: dict[str, Summary]) -> Finding:
    total, phases = figures["time_s"], [figures[name] for name in PHASES if name in figures]
    spent_s = sum(case.median or 0.0 for case in phases)
    lost = min(spent_s / (total.median or 1.0), 1.0)
    return Finding(
        code="open-outweighs",
        severity="advice",
        title=f"{total.label}: opening and closing take {units.quantity(spent_s, 's')} of "
        f"{units.quantity(total.median, 's')} ({units.share(lost)})",
        where={**where(total), "interface": str(total.parameters.get("interface", ""))},
        evidence=run.evidence(total, *phases),
        advice=(
            "Keep the file open over many transfers, or move more data for each open. `storage.metadata` shows "
            "how long the file system takes to open a file without MPI-IO."
        ),
        lost=lost,
    )
