"""What an exchange with neighbors is taken to cost, by what was measured of rings, grids and pairs."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.models.prediction.costs.steps import NeighborExchange
from hpcscope.models.prediction.measured_costs import MeasuredCosts
from hpcscope.plan.placement import Placement
from hpcscope.statistics.summary import Summary
from tests.models.curves import measured, noisy, summary
from tests.models.known_costs import LAUNCHES, SPREAD, SPREAD_LAUNCHES, message, ping_pong


def exchanges(
    random: np.random.Generator,
    ranks: int,
    times: dict[int, float],
    dimensions: int = 1,
    placement: Placement = Placement(),
) -> list[Summary]:
    given = {"ranks": ranks, "dimensions": dimensions, "call": "nonblocking", "placement": placement}
    return [
        summary(noisy(random, time_s), "mpi.neighbor_exchange", "time_s", "global", message_bytes=size, **given)
        for size, time_s in times.items()
    ]


def test_an_exchange_with_neighbors_costs_what_it_costs_on_a_ring() -> None:
    """On as many ranks, else on the most that were measured; 10 us of the time are latency."""
    random = np.random.default_rng(1)
    two, four = {1024: 15e-6, 4096: 30e-6}, {1024: 20e-6, 4096: 50e-6}
    known = [*exchanges(random, 2, two), *exchanges(random, 4, four)]
    costs = MeasuredCosts(measured([*ping_pong(random), *known], LAUNCHES), "default")
    for ranks, neighbors, each_s, name in (
        (2, 2, 30e-6, "2 ranks"),
        (4, 2, 50e-6, "4 ranks"),
        (16, 2, 50e-6, "4 ranks"),
        (16, 1, 30e-6, "4 ranks"),
        (16, 4, 90e-6, "4 ranks"),
    ):
        step = NeighborExchange("exchange", 8, 4096, ranks, neighbors)
        time_s, origin, _ = costs.neighbor_exchange(step, outside=False)
        assert origin == f"mpi.neighbor_exchange on {name}"
        assert time_s[0] == pytest.approx(8 * each_s, rel=0.06)


@pytest.mark.parametrize(
    ("known", "neighbors"),
    [
        # Pairs between hosts, not a ring inside one.
        ([("ring", 4, 50e-6), ("pairs", 2, 5e-3)], 2),
        # A ring between hosts, not a grid inside one.
        ([("grid", 4, 50e-6), ("spread ring", 4, 5e-3)], 4),
    ],
)
def test_exchanges_inside_a_host_say_nothing_of_those_between_hosts(
    known: list[tuple[str, int, float]], neighbors: int
) -> None:
    random = np.random.default_rng(1)
    made = ping_pong(random)
    for kind, ranks, time_s in known:
        if kind == "pairs":
            pair = {"ranks": ranks, "message_bytes": 4096, "placement": SPREAD}
            made.append(summary(noisy(random, time_s), "mpi.alltoallv", "time_s", "global", **pair))
        else:
            dimensions = 2 if kind == "grid" else 1
            placement = SPREAD if kind.startswith("spread") else Placement()
            made += exchanges(random, ranks, {4096: time_s}, dimensions, placement)
    costs = MeasuredCosts(measured(made, [*LAUNCHES, *SPREAD_LAUNCHES]), "default")
    predicted_s, _, _ = costs.neighbor_exchange(NeighborExchange("exchange", 8, 4096, 4, neighbors), outside=True)
    assert predicted_s[0] == pytest.approx(8 * 2 * 5e-3, rel=0.05)


def test_an_exchange_takes_what_was_measured_with_such_sizes() -> None:
    random = np.random.default_rng(1)
    large = exchanges(random, 4, {1 << 20: 10e-3})
    small = exchanges(random, 2, {1024: 30e-6, 4096: 50e-6})
    pairs = [
        summary(noisy(random, time_s), "mpi.alltoallv", "time_s", "global", ranks=2, message_bytes=size)
        for size, time_s in {1024: 20e-6, 4096: 20e-6}.items()
    ]
    step = NeighborExchange("exchange", 8, 4096, 4, 2)
    for known, each_s in (([*large, *small, *pairs], 50e-6), ([*large, *pairs], 20e-6), (large, 10e-3)):
        costs = MeasuredCosts(measured([*ping_pong(random), *known], LAUNCHES), "default")
        time_s, _, _ = costs.neighbor_exchange(step, outside=False)
        assert time_s[0] == pytest.approx(8 * each_s, rel=0.05)


def test_an_exchange_on_a_grid_costs_what_it_costs_on_one_of_as_many_dimensions() -> None:
    random = np.random.default_rng(1)
    known = [*exchanges(random, 4, {4096: 50e-6}), *exchanges(random, 4, {4096: 70e-6}, dimensions=2)]
    costs = MeasuredCosts(measured([*ping_pong(random), *known], LAUNCHES), "default")
    for neighbors, each_s in ((2, 50e-6), (4, 70e-6)):
        time_s, _, _ = costs.neighbor_exchange(NeighborExchange("exchange", 8, 4096, 16, neighbors), False)
        assert time_s[0] == pytest.approx(8 * each_s, rel=0.05)


@pytest.mark.parametrize(
    ("times", "expected_s"),
    [
        ({1024: 15e-6, 4096: 30e-6}, (30e-6, 50e-6, 90e-6)),
        # Of one size, or of large ones, nothing tells latency from the rest.
        ({4096: 30e-6}, (30e-6, 60e-6, 120e-6)),
        ({65536: 1.30e-3, 131072: 1.31e-3}, (1.31e-3, 2.62e-3, 5.24e-3)),
        # The latency is at most the time of the smallest size.
        ({1024: 30e-6, 4096: 20e-6}, (20e-6, 20e-6, 20e-6)),
    ],
)
def test_messages_to_neighbors_share_the_latency_of_pairs_where_no_ring_was_measured(
    times: dict[int, float], expected_s: tuple[float, ...]
) -> None:
    random = np.random.default_rng(1)
    known = [
        summary(noisy(random, time_s), "mpi.alltoallv", "time_s", "global", ranks=2, message_bytes=size)
        for size, time_s in times.items()
    ]
    costs = MeasuredCosts(measured([*ping_pong(random), *known], LAUNCHES), "default")
    for neighbors, each_s in zip((1, 2, 4), expected_s, strict=True):
        step = NeighborExchange("exchange", 8, max(times), 2, neighbors)
        time_s, _, _ = costs.neighbor_exchange(step, outside=False)
        assert time_s[0] == pytest.approx(8 * each_s, rel=0.06)


def test_messages_to_neighbors_cost_messages_where_nothing_else_was_measured() -> None:
    costs = MeasuredCosts(measured(ping_pong(np.random.default_rng(1)), LAUNCHES), "default")
    time_s, _, _ = costs.neighbor_exchange(NeighborExchange("exchange", 8, 4096, 4, 2), False)
    assert time_s[0] == pytest.approx(16 * message(4096), rel=0.05)
