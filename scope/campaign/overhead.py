"""Wall-clock against processor's time: the table of GAMMA (Table 1) for one's own program.

What a process does not spend on a processor it spends waiting: for messages, for the disk, for its turn. An MPI
library that polls keeps its processor busy while it waits, and then the difference does not show it; `mpi_s` does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scope.campaign.configurations import numbers, order, spread, well
from scope.campaign.record import RunRecord
from scope.campaign.study import Point
from scope.models.fit import Bounds
from scope.samples.samples import Floats
from scope.strict import Strict


class Overhead(Strict):
    """A row of the table: per process, medians over the runs."""

    point: Point
    runs: int
    wall_s: Bounds
    """GAMMA's (a)."""
    cpu_s: Bounds
    """GAMMA's (b)."""
    difference_s: Bounds
    """(a) - (b), of each run."""
    ratio: Bounds
    """(a) / (b), of each run."""
    system_s: Bounds
    """The kernel's part of (b)."""
    mpi_s: Bounds | None
    """Inside MPI, whether the processor was used or not; None without profiles."""


def overheads(records: Sequence[RunRecord]) -> list[Overhead]:
    """Return a row for each point that has a run which ended well, in the order of their factors."""
    groups: dict[str, list[RunRecord]] = {}
    for record in well(records):
        groups.setdefault(record.point.key, []).append(record)
    rows = [_overhead(group) for group in groups.values()]
    return sorted((row for row in rows if row is not None), key=lambda row: order(row.point))


def _overhead(group: list[RunRecord]) -> Overhead | None:
    profiled = [record for record in group if "cpu_s" in record.features]
    if profiled:
        wall, cpu, system = (numbers(profiled, name) for name in ("wall_s", "cpu_s", "system_s"))
    else:  # of all ranks and the launcher together, over the ranks
        each = np.array([[r.elapsed_s, (r.user_s + r.system_s) / r.ranks, r.system_s / r.ranks] for r in group])
        wall, cpu, system = each.T
    if not (cpu > 0).all():
        return None
    return Overhead(
        point=group[0].point,
        runs=len(wall),
        wall_s=_bounds(wall),
        cpu_s=_bounds(cpu),
        difference_s=_bounds(wall - cpu),
        ratio=_bounds(wall / cpu),
        system_s=_bounds(system),
        mpi_s=_bounds(numbers(profiled, "mpi_s")) if profiled else None,
    )


def _bounds(values: Floats) -> Bounds:
    figures = spread(values)
    return Bounds(value=figures.median, low=figures.low, high=figures.high)
