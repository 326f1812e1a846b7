"""What more processes give an algorithm or application: speed-up, efficiency, how many are worth while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from scope.machine.machine import Machine
from scope.models.fit import Amdahl, Bounds, Speedup, SpeedupPoint
from scope.models.fitting.draws import draw
from scope.models.fitting.oversubscription import crowded
from scope.models.fitting.ratios import Figure, ratio
from scope.models.scaling import amdahl
from scope.samples.records import LaunchRecord, Value
from scope.samples.samples import Floats
from scope.statistics.summary import Case, Summary

SIZES = ("size", "elements", "n")
"""What says how much an algorithm has to do."""
_ON_GRIDS = ("grid_rows", "grid_columns", "broadcast", "swap", "look_ahead")
WAYS = ("variant", "rows", "exchange", "schedule", "block", "panel", *_ON_GRIDS)
"""What says how it is done: the result is the same. All other parameters say what is computed."""
NOTHING_ALONE = ("rows", "exchange", "schedule", *_ON_GRIDS)
"""Of them, what makes no difference to one process."""
APPLICATION = "application."
SEED = 7

Crowds = set[tuple[int, str, str]]


def speedups(summaries: list[Summary], machine: Machine, launches: list[LaunchRecord]) -> list[Speedup]:
    """Return the speed-ups of everything that was measured on more than one process, one for each size."""
    times = [s for s in summaries if is_total(s)]
    crowds = crowded(machine, launches)
    groups: dict[tuple[object, ...], list[Summary]] = defaultdict(list)
    for one in times:
        groups[(*problem(one), _way(one), one.transport, place(one), one.origin)].append(one)
    several = [group for group in groups.values() if max(s.ranks for s in group) > 1]
    return sorted((_speedup(group, times, crowds) for group in several), key=_order)


def _order(one: Speedup) -> tuple[object, ...]:
    subject = one.subject
    return (subject.benchmark, subject.transport, subject.placement, one.size, str(subject.parameters))


def is_total(summary: Summary) -> bool:
    """Say whether this is the whole time of an algorithm at a size, or of an application."""
    sized = summary.benchmark.startswith("algorithm.") and size_of(summary.parameters) is not None
    return (
        (sized or summary.benchmark.startswith(APPLICATION))
        and summary.metric == "time_s"
        and summary.primary
        and summary.valid
        and bool(summary.median)
    )


def size_of(parameters: dict[str, Value]) -> int | None:
    """Return the size of a problem; None where it has none."""
    return next((int(parameters[name]) for name in SIZES if name in parameters), None)


def family(benchmark: str) -> str:
    """Return what an algorithm computes: `matmul` for `algorithm.matmul_cannon`.

    An application is its own, and so is a part of ScaLAPACK.
    """
    if benchmark.startswith((APPLICATION, "algorithm.scalapack_")):
        return benchmark
    return benchmark.partition(".")[2].partition("_")[0]


def problem(case: Case) -> tuple[object, ...]:
    """Return what is computed, whichever way."""
    given = tuple(sorted((name, value) for name, value in case.parameters.items() if name not in WAYS))
    return family(case.benchmark), given


def alone(one: Summary, times: Iterable[Summary]) -> Summary | None:
    """Return the time of the same way on one process: over the same transport where it was measured so."""

    def way(summary: Summary) -> tuple[object, ...]:
        return (*problem(summary), _way(summary, NOTHING_ALONE), summary.origin)

    same = [s for s in times if s.ranks == 1 and way(s) == way(one)]
    return min(same, key=lambda s: (_way(s) != _way(one), s.transport != one.transport), default=None)


def _way(case: Case, but: Sequence[str] = ("rows",)) -> tuple[object, ...]:
    """Return how it is done, but for the grid."""
    parameters = case.parameters
    return (case.benchmark, *((name, parameters[name]) for name in WAYS if name in parameters and name not in but))


def place(summary: Case) -> tuple[bool, str]:
    """Tell apart what stands apart by choice; how processes are bound follows from their number."""
    kind, _, group = summary.placement.partition(":")
    return kind == "node", group


def _speedup(group: list[Summary], times: list[Summary], crowds: Crowds) -> Speedup:
    random = np.random.default_rng(SEED)
    one = alone(group[0], times)
    others = [s for s in times if s.ranks == 1 and problem(s) == problem(group[0]) and s.origin == group[0].origin]
    best = min(others, key=lambda s: s.median or 0.0, default=None)
    chosen = _fastest(([one] if one else []) + [s for s in group if s.ranks > 1])
    points = [_point(s, one, best, crowds) for s in chosen]
    fair = [s for s, point in zip(chosen, points, strict=True) if not point.oversubscribed]
    ranks = np.array([s.ranks for s in fair], dtype=np.float64)
    drawn_s = np.array([draw(s, random) for s in fair])
    law: Amdahl | str = amdahl.fit(ranks, drawn_s)
    last = group[0]
    return Speedup(
        subject=Case(
            benchmark=last.benchmark,
            parameters={name: value for name, value in last.parameters.items() if name != "rows"},
            ranks=max(s.ranks for s in chosen),
            transport=last.transport,
            placement=last.placement,
        ),
        origin=last.origin,
        size=size_of(last.parameters) or 0,
        alone=one.label if one else "",
        best_alone=best.label if best else "",
        best_alone_s=_bounds(_figure(best)) if best else None,
        points=points,
        effective_ranks=_effective(ranks, drawn_s) if one else None,
        amdahl=None if isinstance(law, str) else law,
        reason=law if isinstance(law, str) else "",
    )


def _fastest(group: Sequence[Summary]) -> list[Summary]:
    """Take the fastest grid of each number of processes."""
    by_ranks: dict[int, Summary] = {}
    for one in group:
        known = by_ranks.get(one.ranks)
        if known is None or (one.median or 0.0) < (known.median or 0.0):
            by_ranks[one.ranks] = one
    return [by_ranks[ranks] for ranks in sorted(by_ranks)]


def _point(summary: Summary, one: Summary | None, best: Summary | None, crowds: Crowds) -> SpeedupPoint:
    over = (summary.ranks, summary.transport, summary.placement) in crowds
    speedup = ratio(_figure(one), _figure(summary)) if one else None
    if one is summary:
        speedup = Figure(1.0, 1.0, 1.0)
    of_best = ratio(_figure(best), _figure(summary)) if best else None
    if best is summary:
        of_best = Figure(1.0, 1.0, 1.0)
    sure = speedup is not None and speedup.low is not None and speedup.low > summary.ranks
    return SpeedupPoint(
        ranks=summary.ranks,
        rows=int(summary.parameters.get("rows", 0)),
        time_s=_bounds(_figure(summary)),
        speedup=_bounds(speedup) if speedup else None,
        efficiency=_bounds(speedup, 1 / summary.ranks) if speedup else None,
        speedup_of_best=_bounds(of_best) if of_best else None,
        oversubscribed=over,
        superlinear=sure and not over and summary.ranks > 1,
    )


def _effective(ranks: Floats, drawn_s: Floats) -> Bounds | None:
    """Return the measured number with the most efficiency times speed-up, which is the least n T(n)^2.

    Eager, Zahorjan & Lazowska 1989, Speedup versus efficiency in parallel systems (IEEE Trans. Computers 38 (3),
    408-423): the knee, where what is gained no longer pays for what is used. The interval holds the numbers that
    95 % of the draws choose.
    """
    if ranks.size < 2:
        return None
    best = ranks[np.argmin(ranks[:, None] * drawn_s**2, axis=0)]
    low, high = np.quantile(best[1:], [0.025, 0.975], method="inverted_cdf")
    return Bounds(value=float(best[0]), low=min(float(low), float(best[0])), high=max(float(high), float(best[0])))


def _figure(summary: Summary) -> Figure:
    return Figure(float(summary.median or 0.0), summary.ci_low, summary.ci_high)


def _bounds(figure: Figure, factor: float = 1.0) -> Bounds:
    low = None if figure.low is None else figure.low * factor
    high = None if figure.high is None else figure.high * factor
    return Bounds(value=figure.value * factor, low=low, high=high)
