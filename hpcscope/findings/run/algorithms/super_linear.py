"""A program is more than p times as fast on p ranks."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.node.cache_knee import CACHES, data_caches
from hpcscope.findings.run.program_case import ProgramCase, algorithm_cases, application_cases, written
from hpcscope.machine.machine import Cache
from hpcscope.models.prediction.prediction import all_costs
from hpcscope.models.scaling.speedup import Speedup, SpeedupPoint
from hpcscope.statistics.summary import Summary

LESS = 0.97
"""Below this ratio of all ranks' total computing time to one rank's, all ranks together clearly compute less."""
MEMORY = {"node.memory_latency": ("access_s", 1), "node.stream": ("bandwidth_bytes_per_s", 3)}
"""For each benchmark that shows the caches: its metric, and its number of arrays."""


def find(run: Run) -> list[Finding]:
    """Find for each program and method the speedup that exceeds its number of ranks by most."""
    best: dict[tuple[object, ...], tuple[Speedup, SpeedupPoint]] = {}
    for speedup in run.models.speedups:
        for point in speedup.points:
            sizes = run.benchmarks.of_role(speedup.subject.benchmark, speedup.subject.parameters, "size")
            chosen = {k: v for k, v in speedup.subject.parameters.items() if k not in sizes}
            key = (speedup.subject.benchmark, str(sorted(chosen.items())), speedup.subject.transport)
            known = best.get(key)
            if point.superlinear and (known is None or _efficiency(point) > _efficiency(known[1])):
                best[key] = (speedup, point)
    cases = algorithm_cases(run) + application_cases(run)
    return [_finding(run, speedup, point, cases) for speedup, point in best.values()]


def _efficiency(point: SpeedupPoint) -> float:
    return point.efficiency.value if point.efficiency else 0.0


def _finding(run: Run, one: Speedup, point: SpeedupPoint, cases: list[ProgramCase]) -> Finding:
    many = next((c for c in cases if _is(c, one, point)), None)
    sequential = next((c for c in cases if c.total.label == one.sequential_baseline), None)
    speedup = written(point.speedup, 2) if point.speedup else ""
    name = run.benchmarks.described(one.subject.benchmark, one.subject.parameters)
    share = _compute_share(point, many, sequential)
    return Finding(
        code="super-linear",
        cause=CACHES if share is not None and share <= LESS else "",
        severity="information",
        title=(
            f"{name} is {speedup} times as fast on {point.ranks} ranks as on one: "
            f"{_why(run, one, point, share, data_caches(run))}"
        ),
        where={
            "benchmark": one.subject.benchmark,
            "size": one.size,
            "ranks": point.ranks,
            "transport": one.subject.transport,
            "layer": run.benchmark(one.subject).level,
        },
        evidence=[
            *(many.evidence("compute_s", "time_s") if many else []),
            *(sequential.evidence("compute_s", "time_s") if sequential else []),
            *([] if share is None else [Evidence(what="computation of all ranks / of one rank", value=share)]),
            *_memory(run, one, point),
        ],
        advice=(
            "The gain is due to the caches, not only to the processors: cache blocking would help one rank as "
            "well. Also compare with the best sequential version."
            if share is not None and share <= LESS
            else "Compare with the best sequential version: the time on one rank is not a sound baseline."
        ),
    )


def _is(case: ProgramCase, speedup: Speedup, point: SpeedupPoint) -> bool:
    total = case.total
    return (total.benchmark, total.parameters, total.ranks, total.transport) == (
        speedup.subject.benchmark,
        speedup.subject.parameters | point.grid,
        point.ranks,
        speedup.subject.transport,
    )


def _compute_share(point: SpeedupPoint, many: ProgramCase | None, sequential: ProgramCase | None) -> float | None:
    """Return the total computing time of all ranks over one rank's time: a ratio below 1 is a cache effect."""
    if many is None or sequential is None or not sequential.seconds("compute_s"):
        return None
    return point.ranks * many.seconds("compute_s") / sequential.seconds("compute_s")


def _why(run: Run, speedup: Speedup, point: SpeedupPoint, share: float | None, caches: list[Cache]) -> str:
    if share is None:
        return "the cause is unknown, because the phases were not recorded"
    if share > LESS:
        return "one rank computes as long as all ranks together, but loses time outside computation"
    costs = all_costs(run.benchmarks).get(speedup.subject.benchmark)
    if costs is None or not costs.touched_bytes(speedup.size):
        return f"all ranks together compute for only {units.share(share)} of the one-rank compute time"
    whole = costs.touched_bytes(speedup.size)
    holding = [cache for cache in caches if whole / point.ranks <= cache.size_bytes < whole]
    part = units.quantity(whole / point.ranks, "B")
    fits = f"; {part} fit into the level {holding[0].level} cache" if holding else ""
    return (
        f"all ranks together compute for only {units.share(share)} of the one-rank compute time. Each rank "
        f"works on {part} instead of {units.quantity(whole, 'B')}{fits}"
    )


def _memory(run: Run, speedup: Speedup, point: SpeedupPoint) -> list[Evidence]:
    """Return the working sets, and the node's memory latency and bandwidth for sets of about these sizes."""
    costs = all_costs(run.benchmarks).get(speedup.subject.benchmark)
    if costs is None or not costs.touched_bytes(speedup.size):
        return []
    whole = costs.touched_bytes(speedup.size)
    memory = [
        Evidence(what="working set of one rank", value=whole, unit="B"),
        Evidence(what=f"working set of each of {point.ranks} ranks", value=whole / point.ranks, unit="B"),
    ]
    for benchmark, (metric, arrays) in MEMORY.items():
        known = [s for s in run.measurements.of(benchmark, metric) if s.ranks == 1]
        near = {s.key: s for size in (whole, whole / point.ranks) if (s := _nearest(run, known, size / arrays))}
        memory += run.evidence(*near.values())
    return memory


def _nearest(run: Run, known: list[Summary], size: float) -> Summary | None:
    return min(known, key=lambda s: abs(run.measurements.size(s) - size), default=None)
