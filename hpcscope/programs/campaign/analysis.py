"""The joint results of a campaign's runs: the data of all tables, findings and reports."""

from collections.abc import Sequence

import numpy as np

from hpcscope.grouping import grouped
from hpcscope.programs.campaign import clusters, configurations, effects, placement, scaling, soak
from hpcscope.programs.campaign.clusters import Clusters
from hpcscope.programs.campaign.configurations import Configuration, numbers, order, spread, well
from hpcscope.programs.campaign.effects import FactorEffect, Fastest
from hpcscope.programs.campaign.folder import Head
from hpcscope.programs.campaign.placement import LayoutComparison
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.campaign.scaling import Law, SpeedupLaw
from hpcscope.programs.campaign.soak import Endurance
from hpcscope.programs.campaign.study import Point
from hpcscope.rundirectory import FORMAT
from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict


class Overhead(Strict):
    """Wall-clock time and CPU time per rank, medians over the runs: a row of GAMMA's Table 1.

    A rank that is off-CPU waits. An MPI library that polls keeps its core busy while it waits: the difference then
    does not show the wait, but `mpi_s` does.
    """

    point: Point
    runs: int
    wall_s: Estimate
    """Wall-clock time, GAMMA's (a)."""
    cpu_s: Estimate
    """CPU time, GAMMA's (b)."""
    difference_s: Estimate
    """(a) - (b), computed for each run."""
    ratio: Estimate
    """(a) / (b), computed for each run."""
    system_s: Estimate
    """The part of (b) in the kernel."""
    mpi_s: Estimate | None
    """Time inside MPI, on-CPU or off-CPU; None without profiles."""


def overheads(records: Sequence[RunRecord]) -> list[Overhead]:
    """Return a row for each configuration with a successful run, in the order of its factors."""
    rows = [_overhead(group) for group in grouped(well(records), lambda record: record.point.key).values()]
    return sorted((row for row in rows if row is not None), key=lambda row: order(row.point))


def _overhead(group: list[RunRecord]) -> Overhead | None:
    profiled = [record for record in group if "cpu_s" in record.features]
    if profiled:
        wall, cpu, system = (numbers(profiled, name) for name in ("wall_s", "cpu_s", "system_s"))
    else:  # CPU time of the launcher and all ranks / number of ranks
        each = np.array([[r.elapsed_s, (r.user_s + r.system_s) / r.ranks, r.system_s / r.ranks] for r in group])
        wall, cpu, system = each.T
    if not (cpu > 0).all():
        return None
    return Overhead(
        point=group[0].point,
        runs=len(wall),
        wall_s=spread(wall).estimate,
        cpu_s=spread(cpu).estimate,
        difference_s=spread(wall - cpu).estimate,
        ratio=spread(wall / cpu).estimate,
        system_s=spread(system).estimate,
        mpi_s=spread(numbers(profiled, "mpi_s")).estimate if profiled else None,
    )


class DisturbedRun(Strict):
    """A run that failed."""

    number: int
    point: Point
    status: str
    reason: str


class Analysis(Strict):
    """`analysis.json`."""

    format: int
    runs: int
    well: int
    unprofiled: int
    """Successful runs without a profile although the monitor was used."""
    unprofiled_reason: str
    disturbances: list[DisturbedRun]
    effects: list[FactorEffect] = []
    fastest: Fastest | None = None
    configurations: list[Configuration]
    overheads: list[Overhead]
    speedups: list[SpeedupLaw]
    laws: list[Law]
    clusters: Clusters | None
    absent: list[str]
    """Analyses that are not possible with these runs, each with the reason."""
    comparisons: list[LayoutComparison]
    """Comparisons of placements."""
    not_compared: list[str]
    endurance: Endurance | None


def analyse(head: Head, records: Sequence[RunRecord]) -> Analysis:
    """Derive everything from the records of a campaign."""
    study = head.kind == "campaign"
    good = configurations.well(records)
    blind = [record for record in good if head.study.monitored and not record.features]
    groups = clusters.clusters(records, head.study.per) if study else ""
    laws = scaling.laws(records) if study else []
    absent = scaling.without_law(records, laws) if study else []
    if isinstance(groups, str) and groups:
        absent.append(f"No groups: {groups}")
    compared = [placement.compare(records, pairing) for pairing in head.pairings]
    return Analysis(
        format=FORMAT,
        runs=len(records),
        well=len(good),
        unprofiled=len(blind),
        unprofiled_reason=blind[0].reason if blind else "",
        disturbances=[
            DisturbedRun(number=r.number, point=r.point, status=r.status, reason=r.reason)
            for r in records
            if r.status != "ok"
        ],
        effects=effects.effects(records) if study else [],
        fastest=effects.fastest(records) if study else None,
        configurations=configurations.configurations(records),
        overheads=overheads(records),
        speedups=scaling.speedup_laws(records) if study else [],
        laws=laws,
        clusters=None if isinstance(groups, str) else groups,
        absent=absent,
        comparisons=[layout for layout in compared if not isinstance(layout, str)],
        not_compared=[reason for reason in compared if isinstance(reason, str)],
        endurance=soak.endurance(records) if head.kind == "soak" and records else None,
    )
