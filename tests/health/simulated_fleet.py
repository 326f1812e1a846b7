"""Fleets of known truth, whose visits scatter as recorded ones did."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from hpcscope.health import slow_nodes
from hpcscope.health.checks import CHECKS
from hpcscope.health.slow_nodes import LEVEL, PARTNERS
from hpcscope.samples.samples import Floats

RECORDED = Path(__file__).with_name("recorded_scatter.json")
VISITS = 6
NATURE = 0.005
"""By how much equal nodes differ for good: standard deviation of the logarithm."""


@cache
def recorded() -> list[Floats]:
    """Return the logarithms of recorded costs of each check, without their mean and divided by their deviation."""
    shapes = [np.array(values) for values in json.loads(RECORDED.read_text())["log_costs"].values()]
    return [(shape - shape.mean()) / shape.std() for shape in shapes]


@dataclass(frozen=True)
class Played:
    """What became of one check of one fleet."""

    healthy: int
    slow: int
    false: int
    """Healthy nodes that were named."""
    named: int
    """Slow nodes that were named."""
    two_clusters: bool
    visible: float | None


def played(
    random: np.random.Generator,
    nodes: int,
    slow: int,
    slowness: float,
    scatter: float,
    nature: float = NATURE,
    visits: int = VISITS,
    check: int | None = None,
) -> Played:
    """Check a fleet of which the first nodes have a rate that is lower by `slowness`, in both stages.

    `check`: number of the recorded one; None: any.
    """
    shape = recorded()[int(random.integers(len(recorded()))) if check is None else check]
    own = random.normal(0, nature, nodes)
    own[:slow] -= np.log1p(-slowness)
    level = LEVEL / len(CHECKS)

    def seen(rows: list[int]) -> Floats:
        return own[rows, None] + scatter * random.choice(shape, (len(rows), visits))

    first = slow_nodes.screen(seen(list(range(nodes))), level)
    named: set[int] = set()
    if first.slow:
        rest = sorted(first.rest, key=lambda row: abs(first.typical[row] - first.center))[:PARTNERS]
        rows = [*first.slow, *rest]
        again = slow_nodes.confirm(first, seen(rows), rows, len(first.slow), level)
        named = {row for row, (_, holds) in again.items() if holds}
    false = len([row for row in named if row >= slow])
    return Played(nodes - slow, slow, false, len(named) - false, first.two_clusters, first.visible)
