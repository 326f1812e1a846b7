"""Repetitions that some rank started too late for its window."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import one_of_each_case
from hpcscope.grouping import grouped
from hpcscope.statistics.summary import Summary

TOLERATED = 0.05
FEWEST = 3
"""Fewest late repetitions of a case: one of twelve is chance."""


def find(run: Run) -> list[Finding]:
    """Find cases with more than 5 % late repetitions, and at least three; one finding per benchmark."""
    cases = one_of_each_case(s for s in run.statistics if s.primary)
    late = [case for case in cases if case.invalid_share > TOLERATED and _late(case) >= FEWEST]
    benchmarks = grouped(late, lambda case: case.benchmark)
    return [_finding(run.benchmarks[name].title, late) for name, late in benchmarks.items()]


def _late(summary: Summary) -> float:
    """Return the number of late repetitions."""
    valid = 1 - summary.invalid_share
    return summary.n * summary.invalid_share / valid if valid > 0 else float("inf")


def _finding(title: str, late: list[Summary]) -> Finding:
    worst = sorted(late, key=lambda s: -s.invalid_share)
    return Finding(
        code="late-windows",
        about="measurement",
        cause="late starts",
        severity="warning",
        title=f"{title}: up to {units.share(worst[0].invalid_share)} of the repetitions started late on some rank "
        f"in {units.count(len(late), 'case')}; these repetitions are excluded",
        where={"benchmark": worst[0].benchmark, "ranks": worst[0].ranks},
        evidence=[Evidence(what=f"late repetitions of {s.label}", value=s.invalid_share) for s in worst[:5]],
        advice=(
            "Something keeps a rank off its core: look for other processes, interrupts or too few cores. "
            "With `sampling.synchronization=dissemination`, ranks need no agreed start time."
        ),
    )
