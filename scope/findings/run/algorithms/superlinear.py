"""An algorithm is more than p times as fast on p processes."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.algorithms.cases import AlgorithmCase, algorithm_cases, application_cases, words, written
from scope.findings.run.context import Context, figure
from scope.findings.run.node.cache_knee import data_caches
from scope.machine.machine import Cache
from scope.models.fit import Speedup, SpeedupPoint
from scope.models.prediction.prediction import all_costs
from scope.statistics.summary import Summary

LESS = 0.97
"""All processes together compute certainly less than one when their sum is below this share of its time."""


def find(context: Context) -> list[Finding]:
    """Find for each algorithm and variant the speed-up that exceeds its number of processes by most."""
    best: dict[tuple[object, ...], tuple[Speedup, SpeedupPoint]] = {}
    for one in context.models.speedups:
        for point in one.points:
            chosen = {k: v for k, v in one.subject.parameters.items() if k not in ("size", "elements")}
            key = (one.subject.benchmark, str(sorted(chosen.items())), one.subject.transport)
            known = best.get(key)
            if point.superlinear and (known is None or _efficiency(point) > _efficiency(known[1])):
                best[key] = (one, point)
    cases = algorithm_cases(context) + application_cases(context)
    return [_finding(context, one, point, cases) for one, point in best.values()]


def _efficiency(point: SpeedupPoint) -> float:
    return point.efficiency.value if point.efficiency else 0.0


def _finding(context: Context, one: Speedup, point: SpeedupPoint, cases: list[AlgorithmCase]) -> Finding:
    many = next((c for c in cases if _is(c, one, point.ranks, point.rows)), None)
    alone = next((c for c in cases if c.total.label == one.alone), None)
    kind = many.kind if many else ()
    speedup = written(point.speedup, 2) if point.speedup else ""
    of_size = f" of size {one.size}" if one.size else ""
    return Finding(
        code="super-linear",
        severity="information",
        title=(
            f"{one.subject.benchmark} {words(kind)}{of_size} is {speedup} times as fast on "
            f"{point.ranks} processes as on one: {_why(one, point, many, alone, data_caches(context))}"
        ),
        where={
            "benchmark": one.subject.benchmark,
            "size": one.size,
            "ranks": point.ranks,
            "transport": one.subject.transport,
            "layer": one.subject.benchmark.partition(".")[0],
        },
        evidence=[
            *(many.evidence("compute_s", "time_s") if many else []),
            *(alone.evidence("compute_s", "time_s") if alone else []),
            *_memory(context, one, point),
        ],
        advice=(
            "The gain is that of the caches, not of the processors alone: one process would gain as well from "
            "working in blocks. Hold the speed-up against the best serial version, too."
        ),
    )


def _is(case: AlgorithmCase, one: Speedup, ranks: int, rows: int) -> bool:
    total = case.total
    mine = {name: value for name, value in total.parameters.items() if name != "rows"}
    return (total.benchmark, mine, total.ranks, int(total.parameters.get("rows", 0)), total.transport) == (
        one.subject.benchmark,
        one.subject.parameters,
        ranks,
        rows,
        one.subject.transport,
    )


def _why(
    one: Speedup,
    point: SpeedupPoint,
    many: AlgorithmCase | None,
    alone: AlgorithmCase | None,
    caches: list[Cache],
) -> str:
    """Hold the computation of all processes against that of one: less in all is the caches' doing."""
    if many is None or alone is None or not alone.seconds("compute_s"):
        return "its phases were not observed"
    share = point.ranks * many.seconds("compute_s") / alone.seconds("compute_s")
    if share > LESS:
        return "the computation takes as long in all; one process loses the time elsewhere"
    costs = all_costs().get(one.subject.benchmark)
    if costs is None:
        return f"all together compute only {units.share(share)} of its time"
    whole = costs.touched_bytes(one.size)
    holding = [cache for cache in caches if whole / point.ranks <= cache.size_bytes < whole]
    fits = f", which fits into the level {holding[0].level} cache" if holding else ""
    return (
        f"all together compute only {units.share(share)} of its time, each on "
        f"{units.quantity(whole / point.ranks, 'B')} instead of {units.quantity(whole, 'B')}{fits}"
    )


def _memory(context: Context, one: Speedup, point: SpeedupPoint) -> list[Evidence]:
    """Return the sets that are worked on, and what the node's memory does with sets of that size."""
    costs = all_costs().get(one.subject.benchmark)
    if costs is None:
        return []
    whole = costs.touched_bytes(one.size)
    found = [
        Evidence(what="worked on by one process", value=whole, unit="B"),
        Evidence(what=f"worked on by each of {point.ranks}", value=whole / point.ranks, unit="B"),
    ]
    for benchmark, metric in (("node.memory_latency", "access_s"), ("node.stream", "bandwidth_bytes_per_s")):
        known = [s for s in context.headlines if s.benchmark == benchmark and s.metric == metric and s.ranks == 1]
        arrays = 3 if benchmark == "node.stream" else 1
        near = {s.label: s for size in (whole, whole / point.ranks) if (s := _nearest(known, size / arrays))}
        found += [figure(s) for s in near.values()]
    return found


def _nearest(known: list[Summary], size: float) -> Summary | None:
    sized = [s for s in known if float(s.parameters.get("array_bytes", 0)) > 0]
    return min(sized, key=lambda s: abs(float(s.parameters["array_bytes"]) - size), default=None)
