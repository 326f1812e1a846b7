"""The effect of more ranks: speedup, efficiency, the most cost-effective number of ranks."""

from collections.abc import Iterable, Sequence

import numpy as np

from hpcscope.catalog.benchmark import Value
from hpcscope.catalog.catalog import PROGRAM_LEVELS
from hpcscope.grouping import grouped
from hpcscope.models.fitting.draws import draw
from hpcscope.models.measurements import Measurements
from hpcscope.models.scaling import amdahl
from hpcscope.models.scaling.amdahl import Amdahl
from hpcscope.plan.case import Case
from hpcscope.samples.records import Origin
from hpcscope.samples.samples import Floats
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.ratio import ratio
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict

SEED = 7


class SpeedupPoint(Strict):
    """A program on one number of ranks."""

    ranks: int
    grid: dict[str, Value]
    """Extents of the fastest measured process grid; 0: the algorithm's choice."""
    time_s: Estimate
    speedup: Estimate | None
    """Relative to the same method on one rank; None if that was not measured."""
    efficiency: Estimate | None
    cost_core_s: Estimate
    """Core-seconds per result: ranks times time."""
    speedup_of_best: Estimate | None
    """Relative to the fastest way to do the same on one rank."""
    oversubscribed: bool
    """More ranks than processors on some host: models do not use this point."""
    superlinear: bool
    """The interval of the speedup is above the number of ranks."""


class Speedup(Strict):
    """The effect of more ranks on a program at one size."""

    subject: Case
    """The case without the grid; its `ranks` is the largest number of ranks."""
    origin: Origin
    size: int
    """0 if the size is not a number, such as an NPB class."""
    sequential_baseline: str
    """The one-rank case that the speedup is relative to; empty if it was not measured."""
    best_sequential: str
    """The fastest one-rank case that computes the same."""
    best_sequential_s: Estimate | None
    points: list[SpeedupPoint]
    effective_ranks: Estimate | None
    """The measured number of ranks with the largest efficiency times speedup."""
    amdahl: Amdahl | None
    reason: str
    """Why there is no fit; empty if there is one."""


def speedups(measurements: Measurements) -> list[Speedup]:
    """Return the speedups of every program that was measured on more than one rank, one for each size."""
    times = totals(measurements)
    groups = grouped(
        times, lambda case: (*without_grid(case, measurements), case.transport, place(case), case.origin)
    )
    several = [group for group in groups.values() if max(s.ranks for s in group) > 1]
    return sorted((_speedup(group, times, measurements) for group in several), key=_order)


def _order(speedup: Speedup) -> tuple[object, ...]:
    subject = speedup.subject
    return (subject.benchmark, subject.transport, subject.placement, speedup.size, str(subject.parameters))


def totals(measurements: Measurements) -> list[Summary]:
    """Return the times of whole programs: of algorithms and applications."""
    catalog = measurements.catalog
    metrics = {
        benchmark.name: catalog.time_metric(benchmark.name)
        for benchmark in catalog
        if benchmark.level in PROGRAM_LEVELS
    }
    return [case for case in measurements.headlines if metrics.get(case.benchmark) == case.metric]


def without_grid(case: Case, measurements: Measurements) -> tuple[object, ...]:
    """Return the benchmark and all its parameters except the extents of its process grid; hashable."""
    grid = measurements.catalog.grid(case.benchmark, case.parameters)
    return (case.benchmark, *sorted((k, str(v)) for k, v in case.parameters.items() if k not in grid))


def sequential_baseline(case: Summary, times: Iterable[Summary], measurements: Measurements) -> Summary | None:
    """Return the same problem and method on one rank, over the same transport if that was measured."""
    catalog = measurements.catalog
    wanted = catalog.sequential(case.benchmark, case.parameters)
    same = [
        s
        for s in times
        if s.ranks == 1
        and s.origin == case.origin
        and s.benchmark == case.benchmark
        and catalog.sequential(s.benchmark, s.parameters) == wanted
    ]
    kept = without_grid(case, measurements)
    return min(
        same, key=lambda s: (without_grid(s, measurements) != kept, s.transport != case.transport), default=None
    )


def best_sequential(case: Summary, times: Iterable[Summary], measurements: Measurements) -> Summary | None:
    """Return the fastest one-rank case that computes the same, by any member of the family."""
    catalog = measurements.catalog
    wanted = catalog.problem(case.benchmark, case.parameters)
    same = [
        s
        for s in times
        if s.ranks == 1 and s.origin == case.origin and catalog.problem(s.benchmark, s.parameters) == wanted
    ]
    return min(same, key=lambda s: s.estimate.value, default=None)


def place(case: Case) -> tuple[bool, str]:
    """Return what distinguishes deliberate placements; the binding of ranks follows from their number."""
    return case.placement.one_per_host, case.placement.group


def _speedup(group: list[Summary], times: list[Summary], measurements: Measurements) -> Speedup:
    random = np.random.default_rng(SEED)
    catalog = measurements.catalog
    first = group[0]
    case = sequential_baseline(first, times, measurements)
    best = best_sequential(first, times, measurements)
    chosen = _fastest(([case] if case else []) + [s for s in group if s.ranks > 1])
    points = [_point(s, case, best, measurements) for s in chosen]
    fair = [s for s, point in zip(chosen, points, strict=True) if not point.oversubscribed]
    ranks = np.array([s.ranks for s in fair], dtype=np.float64)
    drawn_s = np.array([draw(s, random) for s in fair])
    law: Amdahl | str = amdahl.fit(ranks, drawn_s)
    return Speedup(
        subject=first.without(
            catalog, *catalog.grid(first.benchmark, first.parameters), ranks=max(s.ranks for s in chosen)
        ),
        origin=first.origin,
        size=measurements.size(first),
        sequential_baseline=case.label if case else "",
        best_sequential=best.label if best else "",
        best_sequential_s=best.estimate if best else None,
        points=points,
        effective_ranks=_effective(ranks, drawn_s) if case else None,
        amdahl=None if isinstance(law, str) else law,
        reason=law if isinstance(law, str) else "",
    )


def _fastest(group: Sequence[Summary]) -> list[Summary]:
    """Return the fastest grid for each number of ranks."""
    return [
        min((case for case in group if case.ranks == ranks), key=lambda case: case.estimate.value)
        for ranks in sorted({case.ranks for case in group})
    ]


def _point(
    summary: Summary, case: Summary | None, best: Summary | None, measurements: Measurements
) -> SpeedupPoint:
    over = measurements.is_oversubscribed(summary)
    speedup = _ratio(case, summary)
    sure = speedup is not None and speedup.low is not None and speedup.low > summary.ranks
    return SpeedupPoint(
        ranks=summary.ranks,
        grid=measurements.catalog.grid(summary.benchmark, summary.parameters),
        time_s=summary.estimate,
        speedup=speedup,
        efficiency=speedup.scaled(1 / summary.ranks) if speedup else None,
        cost_core_s=summary.estimate.scaled(summary.ranks),
        speedup_of_best=_ratio(best, summary),
        oversubscribed=over,
        superlinear=sure and not over and summary.ranks > 1,
    )


def _ratio(case: Summary | None, summary: Summary) -> Estimate | None:
    if case is None:
        return None
    return Estimate.exact(1.0) if case is summary else ratio(case.per_launch, summary.per_launch)


def _effective(ranks: Floats, drawn_s: Floats) -> Estimate | None:
    """Return the measured number of ranks with the most efficiency times speedup, that is the least n T(n)^2.

    Eager, Zahorjan & Lazowska 1989, Speedup versus efficiency in parallel systems (IEEE Trans. Computers 38 (3),
    408-423): the knee, beyond which the gain no longer pays for the resources. The interval contains the numbers
    that 95 % of the draws choose.
    """
    if ranks.size < 2:
        return None
    best = ranks[np.argmin(ranks[:, None] * drawn_s**2, axis=0)]
    low, high = np.quantile(best[1:], [0.025, 0.975], method="inverted_cdf")
    return Estimate(
        value=float(best[0]), low=min(float(low), float(best[0])), high=max(float(high), float(best[0]))
    )
