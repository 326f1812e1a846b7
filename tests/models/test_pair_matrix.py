"""The matrix of pairs: what stands out is found where it was put, and equals are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.models.communication.decomposition import decompose
from hpcscope.samples.samples import Floats
from tests.draws import draws

LAUNCHES = 6
NOISE = 0.03
UNEVENNESS = 0.01
"""Standard deviations of a launch's times, and of what healthy hosts and pairs differ by for good."""


def symmetric(values: Floats) -> Floats:
    upper = np.triu(values, 1)
    both: Floats = upper + upper.T
    return both


def matrix(
    random: np.random.Generator,
    count: int,
    host: tuple[int, float] | None = None,
    pair: tuple[int, int, float] | None = None,
    cut: tuple[int, float] | None = None,
    tails: float = np.inf,
    unevenness: float = UNEVENNESS,
) -> Floats:
    """Half round trips of healthy hosts with at most one fault of each kind, given as a factor of the time."""
    hosts = random.normal(0, unevenness, count)
    whole = (
        np.log(2e-6) + hosts[:, None] + hosts[None, :] + symmetric(random.normal(0, unevenness, (count, count)))
    )
    if host:
        whole[host[0], :] += np.log(host[1])
        whole[:, host[0]] += np.log(host[1])
    if pair:
        whole[pair[0], pair[1]] += np.log(pair[2])
        whole[pair[1], pair[0]] += np.log(pair[2])
    if cut:
        side = np.arange(count) < cut[0]
        whole += np.log(cut[1]) * (side[:, None] != side[None, :])
    noise = random.normal(0, 1, (LAUNCHES, count, count))
    if np.isfinite(tails):
        noise = random.standard_t(tails, (LAUNCHES, count, count))
    return np.exp([whole + random.normal(0, 0.02) + symmetric(NOISE * one) for one in noise])


@pytest.mark.simulation
@draws(200, 1000)
@pytest.mark.parametrize("tails", [np.inf, 3.0])
def test_equals_are_accused_in_at_most_one_of_a_hundred_matrices(tails: float, draws: int) -> None:
    random = np.random.default_rng(11)
    alarms = 0
    for number in range(draws):
        found = decompose(matrix(random, (4, 6, 8, 12)[number % 4], tails=tails))
        alarms += bool(found.hosts or found.pairs or found.groups)
    assert alarms <= draws // 100


@pytest.mark.parametrize("count", [6, 8, 16])
@pytest.mark.parametrize(
    ("host", "pair", "cut"),
    [
        ((1, 1.3), None, False),
        (None, (0, 2, 1.5), False),
        (None, None, True),
        ((0, 1.5), None, True),
    ],
)
def test_a_fault_is_found_where_it_is_and_nowhere_else(
    count: int, host: tuple[int, float] | None, pair: tuple[int, int, float] | None, cut: bool
) -> None:
    random = np.random.default_rng(7)
    right = 0
    for _ in range(20):
        half = (count // 2, 2.0) if cut else None
        found = decompose(matrix(random, count, host, pair, half))
        groups = (tuple(range(count // 2)), tuple(range(count // 2, count)))
        right += (
            [effect.members for effect in found.hosts] == ([(host[0],)] if host else [])
            and [effect.members for effect in found.pairs] == ([pair[:2]] if pair else [])
            and (found.groups.members in groups if found.groups else not cut)
        )
    assert right >= 18


def test_the_interval_of_an_excess_covers_it() -> None:
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(100):
        (effect,) = decompose(matrix(random, 8, host=(4, 1.4), unevenness=0.0)).hosts
        low, high = effect.excess.low, effect.excess.high
        covered += low is not None and high is not None and low < 0.4 < high
    assert covered >= 90


def test_too_few_processes_or_launches_say_nothing() -> None:
    random = np.random.default_rng(1)
    slow = matrix(random, 8, host=(1, 2.0))
    assert decompose(slow[:3]).hosts == []
    assert decompose(slow[:, :3, :3]).hosts == []
