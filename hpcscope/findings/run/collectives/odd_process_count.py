"""A collective takes longer than on the next larger power of two ranks."""

from collections.abc import Iterator
from math import ceil, log2

from hpcscope import units
from hpcscope.catalog.ranks import in_groups
from hpcscope.findings.finding import Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.collectives.guideline import where
from hpcscope.findings.run.evidence import but_for, certainly_longer, excess_of, how_compared, largest_of_each
from hpcscope.findings.settings import another_algorithm
from hpcscope.statistics.summary import Summary

SMALLEST_EXCESS = 0.1
"""Least excess over the time on more ranks; an algorithm with logarithmic steps has no excess."""
LARGE_EXCESS = 0.5


def find(run: Run) -> Found:
    """Find the worst case of each collective whose interval is above the interval at the next larger power of two.

    Fewer ranks hold no more data, so the excess is due to the algorithm. If the times were equal, the intervals
    from six launches each would be disjoint in this order once in 924 cases; they must also be 10 % apart.
    """
    times = [
        s
        for s in run.headlines
        if s.unit == "s"
        and s.definition == "global"
        and run.benchmark(s).routines
        and s.ci_low is not None
        and not in_groups(s.parameters)
        and not run.shares_processors(s)
    ]
    worst = largest_of_each(_pairs(times), lambda pair: pair[0].benchmark, lambda pair: excess_of(*pair))
    for odd, power in worst:
        excess = excess_of(odd, power)
        how = another_algorithm(run, run.benchmarks.routine(odd.benchmark), odd)
        yield Finding(
            code="odd-process-count",
            severity="warning" if excess > LARGE_EXCESS else "advice",
            title=f"{odd.label} takes {units.longer(excess)} on {power.ranks} ranks",
            where=where(odd),
            evidence=[*run.evidence(odd, power), how_compared(odd, power)],
            advice=(
                "The library's algorithm probably favors powers of two. Run programs that use this collective on "
                f"{power.ranks} or {power.ranks // 2} ranks, or {how.words}."
            ),
            trials=how.trials,
            lost=excess / (1 + excess),
        )


def _pairs(times: list[Summary]) -> Iterator[tuple[Summary, Summary]]:
    by_key = {(but_for(s, "ranks"), s.ranks): s for s in times}
    for odd in times:
        larger = 2 ** ceil(log2(odd.ranks))
        power = by_key.get((but_for(odd, "ranks"), larger))
        if larger != odd.ranks and power is not None and certainly_longer(odd, power, SMALLEST_EXCESS):
            yield odd, power
