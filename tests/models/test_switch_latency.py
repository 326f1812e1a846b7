"""The latency of a switch: the slope is found where times follow from the switches, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.lab.description import read
from hpcscope.machine.machine import EmulatedCluster
from hpcscope.models.communication.switch_latency import Wiring, switch_latency
from hpcscope.samples.samples import Floats, Integers
from hpcscope.topology.topology import Group, Topology

LAUNCHES = 8
BASE_S, SWITCH_S = 20e-6, 3e-6
"""The truth: 20 µs, and 3 µs for each switch."""
CHAIN = Wiring(
    {f"{switch}{host}": switch for switch in "abcd" for host in (1, 2)}, [("a", "b"), ("b", "c"), ("c", "d")]
)


def pairs_of(wiring: Wiring) -> tuple[list[str], Integers]:
    hosts = list(wiring.switch_of)
    return hosts, wiring.switches(hosts, *np.triu_indices(len(hosts), 1))


def times(switches: Integers, noise: float = 0.02, per_switch_s: float = SWITCH_S) -> Floats:
    random = np.random.default_rng(7)
    levels = random.normal(0, 0.01, (LAUNCHES, 1))
    return (BASE_S + per_switch_s * switches) * np.exp(levels + random.normal(0, noise, (LAUNCHES, switches.size)))


def test_switches_on_the_way_are_counted() -> None:
    hosts, switches = pairs_of(CHAIN)
    first, second = np.triu_indices(len(hosts), 1)
    by_pair = {(hosts[a], hosts[b]): int(count) for a, b, count in zip(first, second, switches, strict=True)}
    assert by_pair["a1", "a2"] == 1
    assert by_pair["a1", "b1"] == 2
    assert by_pair["a1", "d2"] == 4
    same = CHAIN.switches(["a1", "a1", "elsewhere"], np.array([0, 0]), np.array([1, 2]))
    assert same.tolist() == [0, -1], "one host, and a host of which nothing is known"


def test_the_slope_and_its_interval_are_those_of_the_data() -> None:
    _, switches = pairs_of(CHAIN)
    found = switch_latency(times(switches), switches)
    assert found is not None
    assert found.switches == [1, 2, 3, 4]
    assert found.pairs == [4, 12, 8, 4]
    assert found.time_s == pytest.approx([BASE_S + count * SWITCH_S for count in (1, 2, 3, 4)], rel=0.02)
    low, value, high = found.per_switch.bounds
    assert low < SWITCH_S < high
    assert value == pytest.approx(SWITCH_S, rel=0.1)


def test_a_switch_that_adds_nothing_has_an_interval_over_zero() -> None:
    _, switches = pairs_of(CHAIN)
    found = switch_latency(times(switches, per_switch_s=0.0), switches)
    assert found is not None
    assert found.per_switch.low < 0 < found.per_switch.high  # type: ignore[operator]


def test_a_slow_pair_does_not_bend_the_line() -> None:
    _, switches = pairs_of(CHAIN)
    slow = times(switches)
    slow[:, np.flatnonzero(switches == 3)[0]] *= 20
    found = switch_latency(slow, switches)
    assert found is not None
    assert found.per_switch.value == pytest.approx(SWITCH_S, rel=0.15)


def test_equal_ways_and_launches_without_all_of_them_have_no_slope() -> None:
    _, switches = pairs_of(CHAIN)
    alike = np.ones_like(switches)
    assert switch_latency(times(alike), alike) is None
    partly = times(switches)
    partly[:, switches > 1] = np.nan
    assert switch_latency(partly, switches) is None
    partly = times(switches)
    partly[0, switches == 4] = np.nan
    found = switch_latency(partly, switches)
    assert found is not None, "the other launches have every way"


def test_few_launches_have_no_interval() -> None:
    _, switches = pairs_of(CHAIN)
    found = switch_latency(times(switches)[:3], switches)
    assert found is not None
    assert (found.per_switch.low, found.per_switch.high) == (None, None)


def test_a_lab_is_wired_as_it_is_declared_and_a_topology_as_a_tree() -> None:
    _, lab = read("sgi")
    facts = EmulatedCluster(
        name="sgi",
        title="",
        links=[],
        relayed=[],
        faults=[],
        switch_of={host.name: lab.group_of(host.group).plugged_into for host in lab.hosts()},
        trunks=[trunk.between for trunk in lab.trunk],
    )
    wiring = Wiring.known(facts, None)
    assert wiring is not None
    ends = np.array([0, 0]), np.array([1, 2])
    assert wiring.switches(["sgia1", "sgia2", "sgib1"], *ends).tolist() == [1, 2]
    rates = {"latency_s": 1e-5, "bandwidth_bytes_per_s": 1e9}
    leaves = [
        Group(name=name, level="cluster", hosts=[f"{name}1", f"{name}2"], parent="top", **rates) for name in "xy"
    ]
    tree = Topology(origin="measured", group=[*leaves, Group(name="top", level="lan", **rates)])
    wiring = Wiring.known(None, tree)
    assert wiring is not None
    assert wiring.switches(["x1", "x2", "y1"], *ends).tolist() == [1, 3]
    assert Wiring.known(None, None) is None
