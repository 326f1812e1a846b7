"""The phases of each rank of an algorithm or application."""

from typing import get_args

import numpy as np

from hpcscope.catalog.benchmark import Phase
from hpcscope.catalog.catalog import PROGRAM_LEVELS, Catalog
from hpcscope.plan.case import Case
from hpcscope.samples.records import Origin
from hpcscope.samples.samples import CaseSamples, Samples
from hpcscope.strict import Strict

PHASES = (*(f"{phase}_s" for phase in get_args(Phase)), "idle_s")
"""The metrics that are successive parts of each rank's time and add up to it."""


class PhasesByRank(Strict):
    """The phases of each rank of an algorithm."""

    subject: Case
    origin: Origin
    ranks_kept: list[int]
    phases_s: dict[str, list[float]]
    """Median of each kept rank over all repetitions and launches, by metric."""


def phases_by_rank(samples: Samples, catalog: Catalog) -> list[PhasesByRank]:
    """Return the medians of each kept rank over all counted repetitions and launches of each case.

    Cases that failed in any launch, cases without phases, and cases on one rank are left out.
    """
    phases_by_ranks: list[PhasesByRank] = []
    for launches in samples.by_case().values():
        right = [launch for launch in launches if launch.ok]
        case = launches[0].case
        if catalog[case.benchmark].level in PROGRAM_LEVELS and case.ranks > 1 and len(right) == len(launches):
            phases_by_ranks += filter(None, [_of_case(right)])
    return phases_by_ranks


def _of_case(launches: list[CaseSamples]) -> PhasesByRank | None:
    series = [times for case in launches for times in case.times if "compute_s" in times.observed]
    if not series or any(not np.array_equal(times.ranks_kept, series[0].ranks_kept) for times in series):
        return None
    names = [name for name in PHASES if all(name in times.observed for times in series)]
    values = {name: np.hstack([times.observed[name][:, times.counted] for times in series]) for name in names}
    if not names or not values[names[0]].size:
        return None
    return PhasesByRank(
        subject=launches[0].case,
        origin=launches[0].origin,
        ranks_kept=series[0].ranks_kept.tolist(),
        phases_s={name: np.median(rows, axis=1).tolist() for name, rows in values.items()},
    )
