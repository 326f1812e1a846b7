"""Random pairs: what is slow is found where it was put, and equals are left alone."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from hpcscope.models.communication.localisation import chance_of_pair, chance_of_path, localise
from hpcscope.models.communication.random_pairs import host_groups, partners
from hpcscope.topology.topology import Group, Topology

power = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "pair_sample_power.py"))
Faults, generated, named = power["Faults"], power["generated"], power["named"]
HOSTS, ROUNDS = 640, 24
"""Twenty switches of 32: 38 pairs on every path."""


@pytest.mark.parametrize("ranks", [2, 5, 64])
def test_every_round_is_a_matching(ranks: int) -> None:
    rounds = [partners(number, ranks) for number in range(1, 20)]
    for other in rounds:
        assert (other[other] == np.arange(ranks)).all()
        assert np.count_nonzero(other == np.arange(ranks)) == ranks % 2
    assert len({tuple(one) for one in rounds}) > 1 or ranks == 2


@pytest.mark.parametrize(
    "faults",
    [
        Faults(1.15, hosts={3, 400}),
        Faults(1.15, switches={4}),
        Faults(1.15, rails={2}),
        Faults(1.15, paths={(2, 17), (5, 6)}),
        Faults(1.3, hosts={7, 639}, switches={4}, paths={(2, 17)}),
    ],
    ids=["hosts", "switch", "rail", "paths", "several"],
)
@pytest.mark.parametrize("tails", [np.inf, 3.0])
def test_what_is_slow_is_found_and_nothing_else(faults: object, tails: float) -> None:
    pairs, groups = generated(np.random.default_rng(3), HOSTS, ROUNDS, faults, tails)
    assert named(localise(pairs, groups)) == power["wanted"](faults)


@pytest.mark.parametrize("tails", [np.inf, 3.0])
def test_equals_are_not_accused(tails: float) -> None:
    random = np.random.default_rng(4)
    for _ in range(5):
        assert named(localise(*generated(random, HOSTS, ROUNDS, Faults(), tails))) == set()


def test_hosts_of_two_domains_are_in_their_own_groups() -> None:
    groups = [
        Group(
            level="lan",
            name=name,
            hosts=[f"n1.{name}", f"n2.{name}"],
            parent="top",
            latency_s=1e-6,
            bandwidth_bytes_per_s=1e9,
        )
        for name in ("x", "y")
    ]
    top = Group(level="wan", name="top", hosts=[], latency_s=1e-6, bandwidth_bytes_per_s=1e9)
    topology = Topology(origin="measured", group=[*groups, top])
    (switches,) = host_groups(["n1.y", "n1.x", "n2.x", "n2.y"], 4, topology)
    assert switches.of == [1, 0, 0, 1]


def test_one_slow_pair_is_told_as_a_pair() -> None:
    pairs, groups = generated(np.random.default_rng(5), HOSTS, ROUNDS, Faults())
    pairs.logs[:, 100] += np.log(1.5)
    assert named(localise(pairs, groups)) == {("pair", (int(pairs.first[100]), int(pairs.second[100])))}


def test_too_few_launches_find_nothing() -> None:
    pairs, groups = generated(np.random.default_rng(5), HOSTS, 8, Faults(2.0, hosts={1}))
    fewer = type(pairs)(pairs.count, pairs.first, pairs.second, pairs.logs[:3])
    assert named(localise(fewer, groups)) == set()


def test_chances_are_those_of_the_draw() -> None:
    hosts, rounds, size = 60, 12, 10
    one, other = np.arange(size), np.arange(size, 2 * size)
    drawn = [[partners(100 * run + number, hosts) for number in range(rounds)] for run in range(1, 400)]
    seen = np.mean([any(each[0] == 1 for each in run) for run in drawn])
    met = np.mean([sum(np.isin(each[one], other).sum() for each in run) >= 2 for run in drawn])
    assert seen == pytest.approx(chance_of_pair(hosts, rounds), abs=0.06)
    assert met == pytest.approx(chance_of_path(hosts, rounds, size, size), abs=0.06)
