"""The two hosts between which a case was measured."""

from math import inf

from hpcscope.findings.results import Run
from hpcscope.statistics.summary import Summary

NAMELESS = ("the first host", "the second host")


def two_hosts(run: Run, case: Summary) -> tuple[str, str]:
    """Return the hosts of a case's two ranks; placeholders if launches differed or both ranks were on one host."""
    pairs = {
        tuple(process.host for process in sorted(launch.processes, key=lambda process: process.rank))
        for launch in run.raw_samples.launches
        if launch.batch == case.batch
    }
    first, *others = pairs or {()}
    return (first[0], first[1]) if not others and len(set(first)) == 2 else NAMELESS


def figures_by_case(run: Run, metric: str) -> list[dict[str, Summary]]:
    """Return all headline results, by metric, of each case that has this metric."""
    by_case: dict[object, dict[str, Summary]] = {}
    for case in run.headlines:
        if run.benchmarks.metric(case.benchmark, metric) is not None:
            by_case.setdefault(case.samples_key, {})[case.metric] = case
    return [figures for figures in by_case.values() if metric in figures]


def upper(case: Summary) -> float:
    """Return the upper bound on a value over launches; infinity if there is none."""
    return case.ci_high if case.interval_basis == "launches" and case.ci_high is not None else inf


def lower(case: Summary) -> float:
    """Return the lower bound on a value over launches; 0 if there is none."""
    return (case.ci_low or 0.0) if case.interval_basis == "launches" else 0.0
