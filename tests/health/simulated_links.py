"""Links of a simulated cluster of known truth, measured in the rounds in which `scope health` measures them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from hpcscope.health import links
from hpcscope.health.links import Pair, SlowLink
from hpcscope.health.records import HealthFile, LinkVisit
from hpcscope.topology.topology import Topology
from tests.health.recorded_fleet import record
from tests.health.simulated_fleet import NATURE, recorded

REPETITIONS = 6
Slowness = Callable[[str, str], float]
"""Returns by which factor the rates of a pair are lower."""


@dataclass(frozen=True)
class PlayedLinks:
    """What became of the links of one cluster."""

    record: HealthFile
    slow: list[SlowLink]

    @property
    def named(self) -> set[tuple[str, ...]]:
        """What both stages found."""
        return {one.members for one in self.slow if one.confirmed}


def played(
    seed: int, hosts: Sequence[str], slowness: Slowness, scatter: float, topology: Topology | None = None
) -> PlayedLinks:
    """Measure both stages; `scatter`: standard deviation of the logarithm from visit to visit."""
    random = np.random.default_rng(seed)
    order = Random(seed)
    own = {host: float(random.normal(0, NATURE)) for host in hosts}
    shape = np.concatenate(recorded())

    def visit(pair: Pair, stage: int) -> LinkVisit:
        factor = slowness(*pair) * float(np.exp(own[pair[0]] + own[pair[1]]))
        noise = scatter * random.choice(shape) + scatter / 2 * random.normal(0, 1, (5, REPETITIONS))
        latency, *rates = np.exp(noise)
        names = ("forward", "backward", "forward_at_once", "backward_at_once")
        made = {name: (1e9 / factor / row).tolist() for name, row in zip(names, rates, strict=True)}
        times = {"started_unix_s": 1e9, "ended_unix_s": 1e9 + 1, "latency_s": (2e-5 * latency).tolist()}
        return LinkVisit.model_validate({"first": pair[0], "second": pair[1], "stage": stage, **times, **made})

    made = record(1).model_copy(update={"hosts": list(hosts), "visits": []})
    more = 0 if topology is None else links.FOR_PATHS
    first = [visit(pair, 1) for pairs in links.rounds(hosts, order, more) for pair in pairs]
    made = made.model_copy(update={"links": first})
    second = [visit(pair, 2) for pairs in links.again(made, topology, order) for pair in pairs]
    made = made.model_copy(update={"links": [*first, *second]})
    return PlayedLinks(made, links.slow(made, topology))


def own_link(slow: Sequence[str], by: float) -> Slowness:
    """The links of some hosts have a rate that is lower by a share."""
    return lambda one, other: 1 / (1 - by) if one in slow or other in slow else 1.0
