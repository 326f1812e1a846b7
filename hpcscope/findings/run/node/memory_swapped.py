"""The working set no longer fits into memory: pages are repeatedly read back from a disk."""

from collections.abc import Iterable
from dataclasses import dataclass

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import but_for
from hpcscope.grouping import grouped
from hpcscope.plan.case import Key
from hpcscope.samples.samples import CaseSamples
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.ratio import ratio
from hpcscope.statistics.summary import Summary

CODE = "memory-swapped"
FEWEST_FAULTS = 100
"""Fewest major faults in a visit: programs and libraries cause some dozens when they are first used."""
FAULTS_PER_S = 50.0
"""Fewest major faults per second: a disk serves at least some hundred, so a case with fewer hardly waited."""


@dataclass(frozen=True)
class Swapping:
    """How many pages a case's visits read back from a disk."""

    faults: int
    """Major page faults of all ranks in all visits."""
    duration_s: float

    @property
    def per_s(self) -> float:
        """Major page faults per second."""
        return self.faults / self.duration_s if self.duration_s > 0 else 0.0


def find(run: Run) -> Found:
    """Find cases in which most visits waited for pages from a disk, with their slowdown over smaller cases.

    Melas 2000, sec. 7.5.2: memory swapping seen as a knee. Cases that use files read pages and are left out.
    """
    seen = swapped(run)
    summaries = grouped(run.headlines, lambda case: case.key)
    swapping = [(_figure(run, summaries[key]), found) for key, found in seen.items() if key in summaries]
    if not swapping:
        return
    knees = [(_knee(run, figure, seen), figure, found) for figure, found in swapping]
    knee, figure, found = max(knees, key=lambda each: (each[0][1].value if each[0] else 0.0, each[2].per_s))
    more = f" (worst of {len(swapping)} cases)" if len(swapping) > 1 else ""
    slower = ""
    if knee is not None:
        small, factor = knee
        slower = f". Per unit of work, it is {units.digits(factor.value)} times as slow as {small.label}"
    yield Finding(
        code=CODE,
        cause="size of the memory",
        severity="warning",
        title=f"Memory swapping: {figure.label} waits for {units.digits(found.per_s)} pages a second from disk"
        f"{slower}{more}",
        where={"layer": "node", "benchmark": figure.benchmark, "ranks": figure.ranks, "cases": len(swapping)},
        evidence=[
            *run.evidence(*([knee[0]] if knee else []), figure),
            Evidence(what="major page faults in all measurements of the case", value=found.faults),
            Evidence(what="duration of these measurements", value=found.duration_s, unit="s"),
            *(
                Evidence(what=f"memory of {host.name}", value=host.memory_bytes, unit="B")
                for host in run.machine.hosts[:1]
            ),
        ],
        advice=(
            "The working set is larger than the free memory. End other programs, raise the limit of the "
            "batch job or control group (`memory.max`), or use smaller sizes or more hosts. Speedups relative to "
            "this case are too high."
        ),
        lost=None if knee is None else max(0.0, 1 - 1 / knee[1].value),
    )


def swapped(run: Run) -> dict[Key, Swapping]:
    """Return the cases in which more than half of the visits swapped."""
    cases = run.raw_samples.cases
    visits = (visit for visit in cases if visit.ok and "file_system" not in run.benchmark(visit.case).requires)
    found = {key: _swapping(cases) for key, cases in grouped(visits, lambda visit: visit.case.key).items()}
    return {key: swapping for key, swapping in found.items() if swapping is not None}


def _swapping(cases: Iterable[CaseSamples]) -> Swapping | None:
    visits = [visit for visit in cases if visit.disturbances is not None]
    faults = [visit.disturbances.major_faults.sum if visit.disturbances else 0 for visit in visits]
    many = [
        count >= FEWEST_FAULTS and count >= FAULTS_PER_S * visit.duration_s
        for count, visit in zip(faults, visits, strict=True)
    ]
    if 2 * sum(many) <= len(visits):
        return None
    return Swapping(sum(faults), sum(visit.duration_s for visit in visits))


def _figure(run: Run, summaries: list[Summary]) -> Summary:
    """Return the case's rate, else its time per step, else its first result."""
    rates = (summary for summary in summaries if summary.better == "higher")
    steps = (summary for summary in summaries if _is_per_unit_of_work(run, summary))
    return next(rates, None) or next(steps, summaries[0])


def _is_per_unit_of_work(run: Run, case: Summary) -> bool:
    """Return whether this result is comparable between sizes; the time of a larger problem is always longer."""
    metric = run.benchmark(case).metric.get(case.metric)
    return case.better == "higher" or (metric is not None and metric.quantity == "time_per_step")


def _knee(run: Run, large: Summary, seen: dict[Key, Swapping]) -> tuple[Summary, Estimate] | None:
    """Return the next smaller case that did not swap, and how much slower the large one is per unit of work.

    None if no such case was measured, and for times of whole problems.
    """
    if not _is_per_unit_of_work(run, large):
        return None
    sizes = {parameter.name for parameter in run.benchmark(large).parameters if parameter.role == "size"}

    def extent(summary: Summary) -> list[float]:
        return [float(value) for name in sorted(sizes) if isinstance(value := summary.parameters.get(name), int)]

    smaller = [
        case
        for case in run.headlines
        if case.key not in seen
        and but_for(case, *sizes) == but_for(large, *sizes)
        and extent(case) < extent(large)
    ]
    if not smaller or not large.median:
        return None
    small = max(smaller, key=extent)
    if not small.median:
        return None
    sides = (small, large) if large.better == "higher" else (large, small)
    return small, ratio(*(case.per_launch for case in sides))
