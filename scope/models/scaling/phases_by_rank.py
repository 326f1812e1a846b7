"""What each process of an algorithm or an application did with its time."""

from __future__ import annotations

import numpy as np

from scope.models.fit import PhasesByRank
from scope.samples.samples import CaseSamples, Samples
from scope.statistics.summary import Case

LEVELS = ("algorithm.", "application.")
PHASES = ("initialise_s", "distribute_s", "compute_s", "exchange_s", "collect_s", "idle_s")
"""The parts of an algorithm's time on each process, in the order in which they come; they add up to it."""


def phases_by_rank(samples: Samples) -> list[PhasesByRank]:
    """Return the medians of each kept rank over all counted repetitions and launches of each case.

    A case that failed in any launch is left out, and so is one without phases, or of one process.
    """
    found: list[PhasesByRank] = []
    for launches in samples.by_case().values():
        right = [case for case in launches if case.ok]
        first = launches[0]
        if first.benchmark.startswith(LEVELS) and first.ranks > 1 and len(right) == len(launches):
            found += filter(None, [_of_case(right)])
    return found


def _of_case(launches: list[CaseSamples]) -> PhasesByRank | None:
    series = [times for case in launches for times in case.times if "compute_s" in times.observed]
    if not series or any(not np.array_equal(times.ranks_kept, series[0].ranks_kept) for times in series):
        return None
    names = [name for name in PHASES if all(name in times.observed for times in series)]
    values = {name: np.hstack([times.observed[name][:, times.counted] for times in series]) for name in names}
    if not names or not values[names[0]].size:
        return None
    first = launches[0]
    return PhasesByRank(
        subject=Case(
            benchmark=first.benchmark,
            parameters=first.parameters,
            ranks=first.ranks,
            transport=first.transport,
            placement=first.placement,
        ),
        origin=first.origin,
        ranks_kept=series[0].ranks_kept.tolist(),
        phases_s={name: np.median(rows, axis=1).tolist() for name, rows in values.items()},
    )
