"""Packed against spread placement: the cost of sharing a node, in computation and in communication.

After NetFinity, section 4: the same ranks on half the nodes (fixed processes), and twice the ranks on the same
nodes (fixed nodes). Values are means over ranks and runs: the mean time of a rank is its computation plus its time
in MPI, so that both parts add up to the slowdown.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from hpcscope.errors import UsageError
from hpcscope.programs.campaign.configurations import well
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.campaign.resampling import interval
from hpcscope.samples.samples import Floats
from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict
from hpcscope.units import count

PARTS = ("wall_s", "compute_s", "mpi_s", "cpu_s")
WALL, COMPUTE, MPI, CPU = range(4)


class Layout(Strict):
    """How the ranks of a study are placed."""

    placement: str
    ranks: int
    nodes: int
    unit: Literal["node", "socket"] = "node"

    @property
    def words(self) -> str:
        """The layout in words."""
        return f"{count(self.ranks, 'rank')} on {count(self.nodes, self.unit)}"


class Pairing(Strict):
    """Two layouts to compare."""

    fixed: Literal["processes", "nodes"]
    packed: Layout
    spread: Layout


class LayoutFigures(Strict):
    """The results of one of two layouts."""

    words: str
    ranks: int
    nodes: int
    runs: int
    wall_s: Estimate
    compute_s: Estimate
    mpi_s: Estimate


class LayoutComparison(Strict):
    """Two layouts of a program compared."""

    fixed: Literal["processes", "nodes"]
    packed: LayoutFigures
    spread: LayoutFigures
    slowdown: Estimate
    """Packed / spread - 1: 0.44 means 44 % longer."""
    by_computation: Estimate
    """The part of the slowdown that is due to computation."""
    by_communication: Estimate
    """The part of the slowdown that is due to MPI."""
    off_processor: Estimate
    """How much longer a rank is off-CPU, as a fraction of the spread time."""
    inflation: Estimate
    """Computation of all ranks together, packed / spread - 1: the cost of contention if the total work of
    the program does not depend on the number of ranks."""

    @property
    def certain(self) -> bool:
        """Whether the interval excludes equal times."""
        low, high = self.slowdown.low, self.slowdown.high
        return low is not None and high is not None and (low > 0 or high < 0)

    @property
    def mostly(self) -> Literal["computation", "communication"]:
        """Which part is larger."""
        larger = abs(self.by_computation.value) >= abs(self.by_communication.value)
        return "computation" if larger else "communication"


def pairings(slots: Sequence[int], sockets: int, ranks: int | None) -> tuple[list[Pairing], list[str]]:
    """Return the layouts that can be compared on hosts with these slots, and notes about them.

    `sockets` matters only on a single host. Raises UsageError if nothing can be compared.
    """
    if len(slots) > 1:
        return _over("node", min(slots), len(slots), ranks), []
    if sockets > 1 and slots[0] >= 2 * sockets:
        return _over("socket", slots[0] // sockets, sockets, ranks), []
    if slots[0] < 2:
        raise UsageError("one host with one slot: nothing can be packed; add hosts with --hosts a:2,b:2")
    packed = ranks or slots[0]
    if not 2 <= packed <= slots[0]:
        raise UsageError(f"--ranks {packed}: must be from 2 to {slots[0]}, the slots of this host")
    note = (
        "One host with one socket: all cores share one memory, so a fixed number of ranks cannot be spread."
        " Scope only compares a full node with a node that runs one rank."
    )
    full, alone = (Layout(placement="packed", ranks=count, nodes=1) for count in (packed, 1))
    return [Pairing(fixed="nodes", packed=full, spread=alone)], [note]


def _over(unit: Literal["node", "socket"], each: int, units: int, ranks: int | None) -> list[Pairing]:
    """Return both pairings over hosts or sockets with room for `each` ranks."""
    if each < 2:
        raise UsageError("each host has one slot: nothing can be packed; add slots with --hosts a:2,b:2")
    count = ranks or units
    full, wide = -(-count // each), min(count, units)
    if not 2 <= count <= each * units or full == wide:
        raise UsageError(
            f"--ranks {count}: must be from 2 to {each * units - 1}, or packed and spread ranks are placed alike"
            f" ({units} {unit}s have room for {each} ranks each)"
        )
    packed = Layout(placement="packed", ranks=count, nodes=full, unit=unit)
    spread = Layout(placement="spread", ranks=count, nodes=wide, unit=unit)
    fewer = Layout(placement="spread", ranks=full, nodes=full, unit=unit)
    return [
        Pairing(fixed="processes", packed=packed, spread=spread),
        Pairing(fixed="nodes", packed=packed, spread=fewer),
    ]


def compare(records: Sequence[RunRecord], pairing: Pairing) -> LayoutComparison | str:
    """Return the comparison of two layouts, or why they cannot be compared."""
    layouts = (pairing.packed, pairing.spread)
    sides = [_times(records, layout) for layout in layouts]
    for layout, times in zip(layouts, sides, strict=True):
        if not len(times):
            return f"no run with {layout.words} succeeded and left a profile"

    def over(name: str, figure: Callable[[Floats, Floats], Floats]) -> Estimate:
        seed = f"{pairing.fixed} {name}"
        return interval(sides, lambda means: figure(means[0].T, means[1].T), seed)

    ratio = pairing.packed.ranks / pairing.spread.ranks
    return LayoutComparison(
        fixed=pairing.fixed,
        packed=_side(pairing.packed, sides[0]),
        spread=_side(pairing.spread, sides[1]),
        slowdown=over("wall", lambda p, s: (p[WALL] - s[WALL]) / s[WALL]),
        by_computation=over("compute", lambda p, s: (p[COMPUTE] - s[COMPUTE]) / s[WALL]),
        by_communication=over("mpi", lambda p, s: (p[MPI] - s[MPI]) / s[WALL]),
        off_processor=over("off", lambda p, s: (p[WALL] - p[CPU] - s[WALL] + s[CPU]) / s[WALL]),
        inflation=over("inflation", lambda p, s: ratio * p[COMPUTE] / s[COMPUTE] - 1),
    )


def _times(records: Sequence[RunRecord], layout: Layout) -> Floats:
    """Return the parts of the time of each run of a layout, with shape (runs, parts)."""
    own = [
        [record.features[name] for name in PARTS]
        for record in well(records)
        if (record.placement, record.ranks) == (layout.placement, layout.ranks) and "wall_s" in record.features
    ]
    return np.array(own, dtype=np.float64).reshape(-1, len(PARTS))


def _side(layout: Layout, times: Floats) -> LayoutFigures:
    def mean(position: int) -> Estimate:
        return interval([times], lambda means: means[0][:, position], f"{layout} {PARTS[position]}")

    return LayoutFigures(
        words=layout.words,
        ranks=layout.ranks,
        nodes=layout.nodes,
        runs=len(times),
        wall_s=mean(WALL),
        compute_s=mean(COMPUTE),
        mpi_s=mean(MPI),
    )
