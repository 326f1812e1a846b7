"""An application computes hardly faster on two cores of a host than on one core."""

from collections import defaultdict

from hpcscope import units
from hpcscope.findings.finding import Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.program_case import ProgramCase, application_cases, written
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.ratio import ratio

LITTLE = 1.2
"""Speedup of the computation below which a second core is hardly worth having; 2 is expected."""


def find(run: Run) -> Found:
    """Find applications whose computation, without messages and waiting, gains little from a second core.

    Each of two ranks has half of the work. If half the work takes as long as all of it on one rank, the ranks
    compete, usually for memory (`node.stream` shows it).
    """
    groups: dict[tuple[object, ...], dict[int, ProgramCase]] = defaultdict(dict)
    for case in application_cases(run):
        total = case.total
        if total.ranks in (1, 2) and "compute_s" in case.figures:
            groups[total.benchmark, case.kind, total.placement][total.ranks] = case
    for pair in groups.values():
        if 1 in pair and 2 in pair and len(set(run.measurements.hosts(pair[2].total))) == 1:
            gained = ratio(pair[1].figures["compute_s"].per_launch, pair[2].figures["compute_s"].per_launch)
            if gained.high is not None and gained.high < LITTLE:
                yield _finding(pair[1], pair[2], gained)


def _finding(case: ProgramCase, both: ProgramCase, gained: Estimate) -> Finding:
    return Finding(
        code="second-core",
        severity="advice",
        title=(
            f"{both.name} computes only {written(gained, 2)} times as fast on two cores as "
            f"on one: {units.quantity(both.seconds('compute_s'), 's')} instead of "
            f"{units.quantity(case.seconds('compute_s'), 's')}"
        ),
        where=both.where,
        evidence=[*case.evidence("compute_s", "time_s"), *both.evidence("compute_s", "time_s", "idle_s")],
        advice=(
            "`scope run node.stream` shows whether one core already saturates the memory. If so, spread such "
            "programs over hosts, one rank per host. Otherwise check that the two ranks do not share a core "
            "(`scope doctor`)."
        ),
        lost=max(0.0, 1 - gained.value / 2),
    )
