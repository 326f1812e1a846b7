"""The joint results of a campaign's runs: the data of all tables, findings and reports."""

from __future__ import annotations

from collections.abc import Sequence

from hpcscope.programs.campaign import clusters, configurations, effects, overhead, placement, scaling, soak
from hpcscope.programs.campaign.clusters import Clusters
from hpcscope.programs.campaign.configurations import Configuration
from hpcscope.programs.campaign.effects import FactorEffect, Fastest
from hpcscope.programs.campaign.folder import Head
from hpcscope.programs.campaign.overhead import Overhead
from hpcscope.programs.campaign.placement import LayoutComparison
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.campaign.scaling import Law, SpeedupLaw
from hpcscope.programs.campaign.soak import Endurance
from hpcscope.programs.campaign.study import Point
from hpcscope.rundirectory import FORMAT
from hpcscope.strict import Strict


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
    """Analyses that the runs do not allow, and why."""
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
        overheads=overhead.overheads(records),
        speedups=scaling.speedup_laws(records) if study else [],
        laws=laws,
        clusters=None if isinstance(groups, str) else groups,
        absent=absent,
        comparisons=[layout for layout in compared if not isinstance(layout, str)],
        not_compared=[each for each in compared if isinstance(each, str)],
        endurance=soak.endurance(records) if head.kind == "soak" and records else None,
    )
