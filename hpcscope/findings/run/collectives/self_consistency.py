"""An MPI call is slower than other MPI calls that do the same.

Performance guidelines after Träff, Gropp & Thakur 2010, "Self-consistent MPI performance guidelines" (IEEE TPDS
21 (5), 698-709). A guideline is one row of `GUIDELINES`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log2

import numpy as np

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.collectives.collective_guidelines import COLLECTIVE_GUIDELINES
from hpcscope.findings.run.collectives.guideline import (
    Guideline,
    GuidelineCalls,
    GuidelineComparison,
    size,
    slowest_pair,
    where,
)
from hpcscope.findings.run.evidence import but_for, how_compared, same_place
from hpcscope.findings.settings import OF_COLLECTIVES, Advised, another_algorithm
from hpcscope.grouping import grouped
from hpcscope.statistics.false_discoveries import adjusted
from hpcscope.statistics.ratio import chance
from hpcscope.statistics.summary import Summary

EXCHANGE = "mpi.comms2"
"""Benchmark of two crossing messages by MPI_Sendrecv."""
SMALLEST_EXCESS = 0.05
EXCESS_OF_PARTS = 0.6
"""Least relative excess of a call over the sum of two calls that were each measured alone. In succession, a
reduce and a broadcast of 256 KiB took 1.25 to 1.6 times this sum, because the data are in another cache."""
FALSE_DISCOVERIES = 0.05
"""Fraction of false violations among the reported violations of a guideline (Benjamini & Hochberg 1995)."""
FEWEST_LAUNCHES = 4
"""With four launches against four, the smallest one-sided p of the rank test is 1/70; with six, it is 1/924."""


@dataclass(frozen=True)
class Violation:
    """One pair that violates a guideline, perhaps by chance."""

    guideline: Guideline
    comparison: GuidelineComparison
    p: float

    @property
    def left(self) -> Summary:
        """The operation that is too slow."""
        return self.comparison.left

    @property
    def smallest_excess(self) -> float:
        """Relative excess of the left side above which a violation is worth a line."""
        return SMALLEST_EXCESS if self.comparison.then is None else EXCESS_OF_PARTS

    @property
    def excess(self) -> float:
        """Relative excess of the left side: 0.1 is 10 %."""
        each = self.comparison.in_launches()
        if each.size >= FEWEST_LAUNCHES:
            return float(np.median(each)) - 1
        return (self.left.median or 0.0) / (self.comparison.bound_s or 1.0) - 1


def find(run: Run) -> Found:
    """Find violations that a test on launches confirms, corrected for all comparisons; one per guideline.

    Cases with more ranks than processors are left out. The uncertainty of the synchronized clock is added to the
    right side.
    """
    times = [
        s
        for s in run.headlines
        if s.unit == "s"
        and run.benchmark(s).level == "mpi"
        and s.definition != "observed"
        and not run.shares_processors(s)
    ]
    uncertainty_s = max((launch.clock_synchronization.error_s for launch in run.raw_samples.launches), default=0.0)
    confirmed = violations(GuidelineCalls(times, run.benchmarks), uncertainty_s)
    for guideline in GUIDELINES:
        broken = [violation for violation in confirmed if violation.guideline is guideline]
        if broken:
            yield _finding(run, guideline, sorted(broken, key=lambda v: -v.excess))


def violations(calls: GuidelineCalls, uncertainty_s: float = 0.0) -> list[Violation]:
    """Return the confirmed violations of all guidelines.

    The comparisons are corrected per guideline. With a correction over all guidelines, the rank test of six
    launches, whose p is never below 1/924, could not confirm a violation that happens in a few cases only.
    """
    return [violation for guideline in GUIDELINES for violation in _broken(guideline, calls, uncertainty_s)]


def _broken(guideline: Guideline, calls: GuidelineCalls, uncertainty_s: float) -> list[Violation]:
    tested = [
        Violation(guideline, comparison, _p(comparison, uncertainty_s))
        for comparison in guideline.pairs(calls)
        if min(len(comparison.left.launch_medians), comparison.bound_of_launches_s.size) >= FEWEST_LAUNCHES
    ]
    if not tested:
        return []
    controlled = adjusted([violation.p for violation in tested])
    return [
        violation
        for violation, p in zip(tested, controlled, strict=True)
        if p < FALSE_DISCOVERIES and violation.excess > violation.smallest_excess
    ]


def _p(comparison: GuidelineComparison, uncertainty_s: float) -> float:
    """Return the one-sided p that the left side is slower.

    Common launches: paired test of the ratios. Different launches: rank test (Mann-Whitney).
    """
    each = comparison.in_launches(uncertainty_s)
    if each.size >= FEWEST_LAUNCHES:
        return chance(each)
    from scipy.stats import mannwhitneyu  # takes a second to load

    other = comparison.bound_of_launches_s + uncertainty_s
    return float(mannwhitneyu(comparison.left.launch_medians, other, alternative="greater").pvalue)


def _exchange_against_ping_pong(calls: GuidelineCalls) -> Iterator[GuidelineComparison]:
    for left in calls.of_benchmark(EXCHANGE):
        for right in calls.of("MPI_Send"):
            if same_place(left, right) and size(left) == size(right):
                yield GuidelineComparison(left, right, 2.0)


def _standard_against_synchronous(calls: GuidelineCalls) -> Iterator[GuidelineComparison]:
    for left in calls.of("MPI_Send", free=["completion"]):
        for right in calls.of("MPI_Ssend", free=["completion"]):
            same = left.parameters.get("completion") == right.parameters.get("completion")
            if same and same_place(left, right) and size(left) == size(right):
                yield GuidelineComparison(left, right)


def _broadcast_against_sends(calls: GuidelineCalls) -> Iterator[GuidelineComparison]:
    sends = calls.of("MPI_Send")
    for left in calls.of("MPI_Bcast"):
        right = slowest_pair(left, [send for send in sends if size(send) == size(left)])
        if left.ranks > 1 and right is not None:
            yield GuidelineComparison(left, right, left.ranks - 1.0)


def _barrier_against_exchanges(calls: GuidelineCalls) -> Iterator[GuidelineComparison]:
    exchanges = [s for s in calls.of_benchmark(EXCHANGE) if size(s) == 0]
    for left in calls.of("MPI_Barrier"):
        right = slowest_pair(left, exchanges)
        if left.ranks > 1 and right is not None:
            yield GuidelineComparison(left, right, float(ceil(log2(left.ranks))))


def _scan_against_rounds(calls: GuidelineCalls) -> Iterator[GuidelineComparison]:
    """Compare with recursive doubling: in round k, each rank receives from rank - 2^k and sends to rank + 2^k."""
    exchanges, reductions = calls.of_benchmark(EXCHANGE), calls.of("MPI_Reduce_local")
    for left in calls.of("MPI_Scan"):
        right = slowest_pair(left, [exchange for exchange in exchanges if size(exchange) == size(left)])
        reduced = next((case for case in reductions if same_place(left, case) and size(case) == size(left)), None)
        if left.ranks > 1 and right is not None and reduced is not None:
            rounds = float(ceil(log2(left.ranks)))
            yield GuidelineComparison(left, right, rounds, reduced, rounds)


def _shorter_against_longer(calls: GuidelineCalls) -> Iterator[GuidelineComparison]:
    sized = [s for s in calls.times if "message_bytes" in s.parameters]
    for curve in grouped(sized, lambda s: but_for(s, "message_bytes")).values():
        ordered = sorted(curve, key=size)
        yield from (GuidelineComparison(short, long) for short, long in pairwise(ordered))


GUIDELINES = [
    Guideline("sendrecv", "MPI_Sendrecv", "a send followed by a receive", _exchange_against_ping_pong),
    Guideline("standard send", "a standard send", "a synchronous send", _standard_against_synchronous),
    Guideline("broadcast", "MPI_Bcast", "p - 1 successive sends", _broadcast_against_sends),
    Guideline("barrier", "MPI_Barrier", "ceil(log2 p) rounds of empty MPI_Sendrecv", _barrier_against_exchanges),
    Guideline(
        "scan by rounds",
        "MPI_Scan",
        "ceil(log2 p) rounds of MPI_Sendrecv and MPI_Reduce_local",
        _scan_against_rounds,
    ),
    Guideline("monotony", "a message", "the next larger size", _shorter_against_longer),
    *COLLECTIVE_GUIDELINES,
]


def _finding(run: Run, guideline: Guideline, broken: list[Violation]) -> Finding:
    worst = broken[0]
    excess = worst.excess
    many = f" (worst of {len(broken)} cases)" if len(broken) > 1 else ""
    how = _advice(run, guideline, worst.left)
    return Finding(
        code="self-consistency",
        cause=OF_COLLECTIVES if how.trials else "",
        severity="warning" if worst.excess > 1 else "advice",
        title=f"{guideline.left} takes {units.longer(excess)} {guideline.right}: {worst.left.label}{many}",
        where={"guideline": guideline.name, **where(worst.left)},
        evidence=[evidence for violation in broken[:5] for evidence in _evidence(violation)],
        advice=how.words,
        trials=how.trials,
        lost=worst.excess / (1 + worst.excess),
    )


def _evidence(violation: Violation) -> list[Evidence]:
    pair, left = violation.comparison, violation.left
    times, then_times = ("" if times == 1 else f"{times:g} x " for times in (pair.times, pair.then_times))
    then = f", then {then_times}{pair.then.label}" if pair.then else ""
    return [
        Evidence(what=left.label, value=left.median or 0.0, unit="s"),
        Evidence(what=f"{times}{pair.right.label}{then}", value=pair.bound_s, unit="s"),
        how_compared(left, pair.right),
    ]


def _advice(run: Run, guideline: Guideline, left: Summary) -> Advised:
    if guideline in COLLECTIVE_GUIDELINES or guideline.name in ("broadcast", "barrier", "scan by rounds"):
        how = another_algorithm(run, run.benchmarks.routine(left.benchmark), left)
        return how._replace(words=f"The compared calls were measured separately, not in succession; {how.words}.")
    if guideline.name == "monotony":
        return Advised("Padding the message would be faster.", [])
    return Advised(f"Use {guideline.right} at these sizes, and compare another MPI (`scope run --mpi NAME`).", [])
