"""Rates of concurrent transfers over shared links: max-min fair shares.

The rates of all transfers grow at the same pace until a link is full; transfers over that link stop growing, the
others go on (Bertsekas & Gallager 1992, Data Networks, sec. 6.5.2). This is how streams with equal windows share
links that queue in order of arrival.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hpcscope.topology.topology import Topology

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Transfer:
    """A stream from one host to another."""

    source: str
    target: str

    @property
    def reversed(self) -> Transfer:
        """The same path in the other direction."""
        return Transfer(self.target, self.source)


@dataclass
class Resources:
    """Links with limited rates, and which of them each transfer uses."""

    capacities: list[float] = field(default_factory=list)
    uses: list[list[int]] = field(default_factory=list)
    _numbers: dict[Hashable, int] = field(default_factory=dict)

    def add(self, transfer_uses: Sequence[tuple[Hashable, float]]) -> None:
        """Add a transfer by its links: their names and rates in bytes per second."""
        indices = []
        for name, capacity in transfer_uses:
            if name not in self._numbers:
                self._numbers[name] = len(self.capacities)
                self.capacities.append(capacity)
            indices.append(self._numbers[name])
        self.uses.append(indices)

    def shares(self) -> Floats:
        """Return the max-min fair rate of every transfer."""
        count = len(self.uses)
        table = np.zeros((len(self.capacities), count))
        for transfer, indices in enumerate(self.uses):
            table[indices, transfer] = 1.0
        left = np.array(self.capacities)
        rates = np.zeros(count)
        growing = np.ones(count)
        while growing.any():
            users = table @ growing
            level = np.where(users > 0, left / np.maximum(users, 1.0), np.inf)
            step = float(level.min())
            rates += step * growing
            left = left - step * users
            full = level <= step * (1 + 1e-9) + 1e-12
            growing = growing * (full @ table == 0)
        return rates


def predicted_rates(topology: Topology, transfers: Sequence[Transfer]) -> Floats:
    """Return the rate of each of several concurrent transfers, in bytes per second."""
    ports = {exception.host: exception.bandwidth_bytes_per_s for exception in topology.exception}
    resources = Resources()
    for number, transfer in enumerate(transfers):
        resources.add(_uses(topology, ports, transfer, number))
    return resources.shares()


def _uses(
    topology: Topology, ports: dict[str, float], transfer: Transfer, number: int
) -> list[tuple[Hashable, float]]:
    a, b = transfer.source, transfer.target
    if a == b:
        inside = topology.host.bandwidth_bytes_per_s if topology.host else float("inf")
        return [(("alone", number), inside)]
    here, there = topology.group_of[a], topology.group_of[b]
    join = topology.join(a, b)
    uses: list[tuple[Hashable, float]] = [
        (("out", a), ports.get(a, here.bandwidth_bytes_per_s)),
        (("in", b), ports.get(b, there.bandwidth_bytes_per_s)),
        (("alone", number), join.bandwidth_bytes_per_s),
    ]
    if join.medium == "shared":
        uses.append((("medium", join.name), join.bandwidth_bytes_per_s))
    for leaf, direction in ((here, "out"), (there, "in")):
        for group in topology.way_up(leaf):
            if group is join:
                break
            if group.medium == "shared":
                uses.append((("medium", group.name), group.bandwidth_bytes_per_s))
            if group.uplink_bytes_per_s is not None:
                way = "both" if group.uplink_duplex == "half" else direction
                uses.append((("uplink", group.name, way), group.uplink_bytes_per_s))
    return uses
