"""Slow nodes are named, healthy ones are not, and a check says what it cannot see; fleets of known truth."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hpcscope.health import slow_nodes
from hpcscope.health.slow_nodes import SMALLEST
from hpcscope.samples.samples import Floats
from tests.health.simulated_fleet import Played, played, recorded

FLEETS = 60


def many(seed: int, nodes: int, slow: int, slowness: float, scatter: float) -> list[Played]:
    random = np.random.default_rng(seed)
    return [played(random, nodes, slow, slowness, scatter) for _ in range(FLEETS)]


def even(nodes: int, visits: int = 6, spread: float = 0.01) -> Floats:
    """A group whose nodes and visits scatter evenly, without chance."""
    return spread * (np.linspace(-1, 1, nodes)[:, None] + 0 * np.arange(visits)) - 3


@pytest.mark.parametrize("scatter", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("nodes", [5, 16, 64])
def test_healthy_fleets_have_no_alarm(nodes: int, scatter: float) -> None:
    fleets = many(1, nodes, 0, 0, scatter)
    assert sum(fleet.false for fleet in fleets) == 0
    assert not any(fleet.two_clusters for fleet in fleets)


@pytest.mark.parametrize("slow", [1, 3, 6])
def test_nodes_that_are_ten_percent_slow_are_named_also_when_a_fifth_is(slow: int) -> None:
    fleets = many(2, 32, slow, 0.1, 0.02)
    assert sum(fleet.named for fleet in fleets) >= 0.99 * sum(fleet.slow for fleet in fleets)
    assert sum(fleet.false for fleet in fleets) == 0


def test_the_slowness_that_is_said_to_be_visible_is_named() -> None:
    random = np.random.default_rng(3)
    missed = 0
    for check, (nodes, scatter) in product(range(len(recorded())), ((32, 0.1), (100, 0.02))):
        said = [played(random, nodes, 0, 0, scatter, check=check).visible for _ in range(FLEETS)]
        visible = float(np.median([value for value in said if value is not None]))
        fleets = [played(random, nodes, 1, visible, scatter, check=check) for _ in range(FLEETS)]
        missed += FLEETS - sum(fleet.named for fleet in fleets)
    assert missed <= 0.02 * 2 * len(recorded()) * FLEETS


def test_half_a_fleet_is_no_majority() -> None:
    fleets = many(4, 40, 20, 0.2, 0.02)
    assert all(fleet.two_clusters for fleet in fleets)


def test_a_node_that_is_slow_once_is_not_named() -> None:
    costs = even(12)
    costs[5] += 0.3
    first = slow_nodes.screen(costs, 0.001)
    assert first.slow == (5,)
    again = even(9)
    assert slow_nodes.confirm(first, again, [5, *range(8)], 1, 0.001)[5][1] is False
    again[0] += 0.3
    assert slow_nodes.confirm(first, again, [5, *range(8)], 1, 0.001)[5][1] is True


def test_less_than_the_smallest_slowness_is_not_named_however_certain() -> None:
    costs = even(12, spread=0.0001)
    costs[5] += slow_nodes.SMALLEST_LOG - 0.01
    screening = slow_nodes.screen(costs, 0.001)
    assert screening.slow == ()
    assert screening.visible == pytest.approx(SMALLEST, abs=0.001)


def test_few_nodes_are_suspected_beside_the_fastest_and_only_without_overlap() -> None:
    costs = even(3)
    costs[1] += 0.5
    first = slow_nodes.screen(costs, 0.001)
    assert (first.slow, first.visible) == ((1,), None)
    again = even(3)
    assert slow_nodes.confirm(first, again, [1, 0, 2], 1, 0.001)[1][1] is False
    again[0] += 0.5
    assert slow_nodes.confirm(first, again, [1, 0, 2], 1, 0.001)[1][1] is True


def test_a_reference_names_slow_nodes_also_where_all_are() -> None:
    random = np.random.default_rng(5)
    costs = random.normal(0, 0.01, (10, 6))
    assert slow_nodes.below_reference(costs, 0.0, 0.001) == {}
    costs += 0.3
    assert list(slow_nodes.below_reference(costs, 0.0, 0.001)) == list(range(10))
    assert slow_nodes.screen(costs, 0.001).slow == ()
