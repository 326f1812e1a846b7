"""Clusters that are descriptions alone: what is found must be what was described, over many seeds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from hpcscope.errors import UsageError
from hpcscope.topology.discovery import FARTHER, Discovery, discover
from hpcscope.topology.survey import Survey
from hpcscope.topology.topology import Topology
from hpcscope.topology.tree import joined, merge_alike
from tests.topology.agreement import nests, problems
from tests.topology.synthetic import MBIT, PRESETS, Cluster, Synthetic, grid

SEEDS = 20
NOISE, STRAGGLERS = 0.01, 0.001


def found(cluster: Cluster, seed: int, noise: float = NOISE, stragglers: float = STRAGGLERS) -> Discovery:
    return discover(Synthetic(cluster, np.random.default_rng(seed), noise, stragglers), "simulated", seed=seed)


def healthy(cluster: Cluster, rng: np.random.Generator) -> str:
    return "healthy"


def slow_host(cluster: Cluster, rng: np.random.Generator) -> str:
    host = str(rng.choice(sorted(cluster.switch_of)))
    rate = cluster.ports[host][0] / 10
    cluster.ports[host] = (rate, rate)
    return host


def slow_trunk(cluster: Cluster, rng: np.random.Generator) -> str:
    names = sorted(map(sorted, cluster.trunks))
    trunk = frozenset(names[rng.integers(len(names))])
    cluster.trunks[trunk] = (cluster.trunks[trunk][0] / 10, "full")
    return "-".join(sorted(trunk))


CASES = [
    (name, fault)
    for name, make in PRESETS.items()
    for fault in (healthy, slow_host, slow_trunk)
    if fault is not slow_trunk or make().trunks
]


KEPT = "fat-tree"
FURTHER = pytest.mark.slow("further presets and faults; there, a healthy and a slow trunk of the largest")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param(
            name,
            fault,
            id=f"{name}-{fault.__name__}",
            marks=() if name == KEPT and fault is not slow_host else FURTHER,
        )
        for name, fault in CASES
    ],
)
def test_every_preset_is_found_exactly(name: str, fault: Callable[[Cluster, np.random.Generator], str]) -> None:
    for seed in range(SEEDS):
        cluster, rng = PRESETS[name](), np.random.default_rng(1000 + seed)
        where = fault(cluster, rng)
        discovery = found(cluster, seed)
        assert problems(cluster, discovery.topology, rng) == [], (seed, where)
        assert discovery.check.passed, (seed, where)


def hosts(name: str, count: int, first: int = 1) -> frozenset[str]:
    return frozenset(f"{name}{number}" for number in range(first, first + count))


def test_the_three_clusters_are_joined_by_a_lan_and_a_wan() -> None:
    topology = found(grid(), 5).topology
    lan, giza = hosts("hpc", 8) | hosts("grid", 8), hosts("giza", 8)
    assert nests(topology) == {frozenset({hosts("hpc", 8), hosts("grid", 8)}), frozenset({lan, giza})}
    assert {group.name: group.level for group in topology.group} == {
        "wan": "wan", "lan": "lan", "hpc": "cluster", "grid": "cluster", "giza": "cluster"
    }  # fmt: skip
    # What never limits is absent: 1 Gbit/s for eight hosts of 100 Mbit/s.
    assert topology.by_name["hpc"].uplink_bytes_per_s is None
    assert topology.by_name["grid"].uplink_bytes_per_s == pytest.approx(11.875e6, rel=0.05)
    assert topology.by_name["giza"].uplink_bytes_per_s == pytest.approx(0.7956e6, rel=0.05)
    assert all((group.confidence or 0) > 0.9 for group in topology.group)


def star(switches: int, each: int, uplink: float, duplex: str = "full", latency_us: float = 0.0) -> Cluster:
    cluster = Cluster()
    for number in range(switches):
        cluster.group("n", each, 100, f"s{number}").trunk(f"s{number}", "core", uplink, duplex, latency_us)
    return cluster


def bus_beside_a_switch() -> Cluster:
    cluster = Cluster(buses={"bus": 10}).group("old", 6, 10, "bus").group("new", 6, 100, "switch")
    return cluster.trunk("bus", "switch", 100)


def chain() -> Cluster:
    cluster = Cluster().group("a", 4, 100).group("b", 4, 100).group("c", 4, 100)
    return cluster.trunk("a", "b", 100).trunk("b", "c", 100)


OTHERS = {
    "two hosts": lambda: Cluster().group("n", 2, 100),
    "three on a bus": lambda: Cluster(buses={"bus": 10}).group("n", 3, 10, "bus"),
    "two and two": lambda: star(2, 2, 50),
    "half duplex": lambda: star(3, 6, 100, "half"),
    "a bus beside a switch": bus_beside_a_switch,
    "a chain of switches": chain,
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS.keys())
def test_other_clusters_are_found(make: Callable[[], Cluster]) -> None:
    for seed in range(5):
        cluster = make()
        topology = found(cluster, seed).topology
        assert problems(cluster, topology, np.random.default_rng(seed)) == [], seed
        half = any(duplex == "half" for _, duplex in cluster.trunks.values())
        assert all((group.uplink_duplex == "half") == half for group in topology.group if group.uplink_bytes_per_s)


def test_a_far_join_is_a_wide_one() -> None:
    topology = found(star(2, 4, 100, latency_us=5000), 1).topology
    assert topology.root.level == "wan"
    assert topology.root.latency_s > 4e-3


def test_sites_that_only_latency_tells_apart_are_found() -> None:
    cluster = star(3, 4, 10_000, latency_us=2000)
    for seed in range(3):
        topology = found(cluster, seed).topology
        assert problems(cluster, topology, np.random.default_rng(seed)) == []
        assert topology.root.level == "wan"
        assert all(group.uplink_bytes_per_s is None for group in topology.group)


@pytest.mark.parametrize(
    ("make", "most"),
    [(lambda: Cluster().group("n", 32, 100), 300), (lambda: star(2, 16, 100), 450), (grid, 450)],
    ids=["a switch", "two switches", "grid"],
)
def test_it_costs_far_less_than_all_pairs_of_64_ranks(make: Callable[[], Cluster], most: int) -> None:
    # Two ranks on each of 32 hosts are 2016 pairs.
    for seed in range(3):
        assert found(make(), seed).messages < most


def test_a_host_with_one_slow_direction_is_an_exception() -> None:
    for seed, ports in enumerate([(100.0, 20.0), (20.0, 100.0)]):
        cluster = star(2, 8, 100)
        cluster.ports["n3"] = ports
        discovery = found(cluster, seed)
        assert [each.host for each in discovery.topology.exception] == ["n3"]
        assert discovery.check.passed
        assert discovery.ports["n3"].out / discovery.ports["n3"].into == pytest.approx(
            ports[0] / ports[1], rel=0.1
        )


def test_a_group_that_was_split_by_mistake_has_the_rate_of_its_ports_again() -> None:
    cluster = Cluster().group("n", 4, 400)
    cluster.ports["n1"] = (40.0, 40.0)
    survey = Survey(Synthetic(cluster, np.random.default_rng(1)), np.random.default_rng(1))
    survey.explore(survey.prober.hosts)
    # Of two hosts the slow one counts as much as the other in every mean.
    root = joined([["n1", "n2"], ["n3", "n4"]], survey, buses=[])
    assert merge_alike(root, {}, survey, FARTHER)
    assert root.hosts == ["n1", "n2", "n3", "n4"]
    assert root.bandwidth == pytest.approx(400 * MBIT, rel=0.01)


def test_exact_answers_give_exact_figures() -> None:
    topology = found(grid(), 1, noise=0.0, stragglers=0.0).topology
    assert topology.by_name["giza"].bandwidth_bytes_per_s == pytest.approx(200 * 0.95 * 125e3, rel=1e-3)
    assert topology.by_name["wan"].bandwidth_bytes_per_s == pytest.approx(6.7 * 0.95 * 125e3, rel=1e-3)


def test_a_check_that_fails_lowers_the_confidence() -> None:
    cluster = star(2, 8, 100)

    def tell(text: str) -> None:
        if text.startswith("a check"):  # the trunk breaks down just before
            cluster.trunks[frozenset(("s0", "core"))] = (5, "full")

    prober = Synthetic(cluster, np.random.default_rng(1), NOISE)
    discovery = discover(prober, seed=1, tell=tell)
    assert not discovery.check.passed
    assert all((group.confidence or 0) <= 0.5 for group in discovery.topology.group)


def test_a_disturbed_transfer_hardly_ever_fails_the_check() -> None:
    cluster = Cluster().group("a", 3, 100).group("b", 3, 100).trunk("a", "b", 100)
    passed = 0
    for seed in range(20):
        prober = Synthetic(cluster, np.random.default_rng(seed), NOISE)

        def tell(text: str, prober: Synthetic = prober) -> None:
            if text.startswith("a check"):
                prober.stragglers = 0.2

        passed += discover(prober, seed=seed, tell=tell).check.passed
    assert passed >= 18  # 15 where the second check measured each of its few transfers once


def test_one_host_is_refused() -> None:
    with pytest.raises(UsageError, match=r"\(n1\)"):
        found(Cluster().group("n", 1, 100), 1)


def test_the_topology_is_a_valid_file(tmp_path: object) -> None:
    from hpcscope.topology.topology import write
    from tests.topology.test_topology_file import from_text

    topology: Topology = found(grid(), 2).topology
    again = from_text(tmp_path, write(topology))  # type: ignore[arg-type]
    assert [group.name for group in again.group] == [group.name for group in topology.group]


class OneDirectionAtATime(Synthetic):
    """A cluster whose hosts send more slowly while they receive: acknowledgements wait behind data."""

    def rates(self, transfers, expected):  # type: ignore[no-untyped-def]
        answer = super().rates(transfers, expected)
        receiving = {transfer.target for transfer in transfers}
        kept = [0.77 if transfer.source in receiving else 1.0 for transfer in transfers]
        return replace(answer, rates=answer.rates * np.array(kept))


def test_hosts_that_send_more_slowly_while_they_receive_are_on_one_switch() -> None:
    for seed in range(SEEDS):
        cluster = Cluster().group("n", 4, 400)
        slow_host(cluster, np.random.default_rng(seed))
        prober = OneDirectionAtATime(cluster, np.random.default_rng(seed), noise=0.04)
        topology = discover(prober, seed=seed).topology
        assert [sorted(group.hosts) for group in topology.group] == [["n1", "n2", "n3", "n4"]], seed


class Starved(Synthetic):
    """A cluster whose processors are short now and then."""

    short = 0

    def rates(self, transfers, expected):  # type: ignore[no-untyped-def]
        answer = replace(super().rates(transfers, expected), starved=len(self.asked) % 10 == 0)
        self.short += answer.starved
        return answer


def test_processors_that_are_short_are_noted_and_lower_the_confidence() -> None:
    prober = Starved(star(2, 4, 100), np.random.default_rng(1), NOISE)
    discovery = discover(prober, seed=1)
    assert re.search(rf"\b{prober.short} of {len(prober.asked)}\b", discovery.notes[0])
    assert all((group.confidence or 0) <= 0.5 for group in discovery.topology.group)
