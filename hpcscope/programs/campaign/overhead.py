"""Wall-clock time against processor time: GAMMA's Table 1 for any program.

A process that is off-CPU waits: for messages, for the disk, for its turn. An MPI library that polls keeps its
processor busy while it waits; the difference then does not show the wait, but `mpi_s` does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hpcscope.programs.campaign.configurations import numbers, order, spread, well
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.campaign.study import Point
from hpcscope.samples.samples import Floats
from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict


class Overhead(Strict):
    """A row of the table: times per process, medians over the runs."""

    point: Point
    runs: int
    wall_s: Estimate
    """GAMMA's (a)."""
    cpu_s: Estimate
    """GAMMA's (b)."""
    difference_s: Estimate
    """(a) - (b), of each run."""
    ratio: Estimate
    """(a) / (b), of each run."""
    system_s: Estimate
    """The part of (b) in the kernel."""
    mpi_s: Estimate | None
    """Time inside MPI, on or off a processor; None without profiles."""


def overheads(records: Sequence[RunRecord]) -> list[Overhead]:
    """Return a row for each configuration with a successful run, in the order of its factors."""
    groups: dict[str, list[RunRecord]] = {}
    for record in well(records):
        groups.setdefault(record.point.key, []).append(record)
    rows = [_overhead(group) for group in groups.values()]
    return sorted((row for row in rows if row is not None), key=lambda row: order(row.point))


def _overhead(group: list[RunRecord]) -> Overhead | None:
    profiled = [record for record in group if "cpu_s" in record.features]
    if profiled:
        wall, cpu, system = (numbers(profiled, name) for name in ("wall_s", "cpu_s", "system_s"))
    else:  # the time of all ranks and the launcher together, divided by the ranks
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


def _bounds(values: Floats) -> Estimate:
    figures = spread(values)
    return Estimate(value=figures.median, low=figures.low, high=figures.high)
