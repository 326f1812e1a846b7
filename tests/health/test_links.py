"""Slow links are named after both stages, by host, by switch or by path, and healthy ones are not."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from hpcscope.health import links
from hpcscope.health.records import LinkVisit
from hpcscope.health.verdict import BAD, SUSPECT
from hpcscope.topology.topology import Topology, read
from tests.health.recorded_fleet import record
from tests.health.simulated_links import own_link, played

HOSTS = [f"n{number}" for number in range(1, 33)]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 33, 1000])
def test_rounds_are_disjoint_and_no_pair_occurs_twice(count: int) -> None:
    hosts = [f"n{number}" for number in range(count)]
    made = links.rounds(hosts, Random(1))
    assert len(made) <= 11
    pairs = [frozenset(pair) for each in made for pair in each]
    assert len(set(pairs)) == len(pairs)
    for each in made:
        ends = [host for pair in each for host in pair]
        assert len(set(ends)) == len(ends) == count // 2 * 2
    assert made == links.rounds(hosts, Random(1))
    every = links.rounds(hosts[:8], Random(2), 99)
    assert len({frozenset(pair) for each in every for pair in each}) == min(count, 8) * (min(count, 8) - 1) // 2


@pytest.mark.parametrize("count", [4, 8, 32, 200])
def test_healthy_links_have_no_alarm(count: int) -> None:
    for seed in range(2 if count > 100 else 10):
        assert played(seed, [f"n{number}" for number in range(count)], own_link([], 0), 0.05).named == set()


@pytest.mark.parametrize("slow", [["n3"], ["n3", "n9", "n20"], HOSTS[:6]])
def test_hosts_whose_links_are_slow_are_named(slow: list[str]) -> None:
    for seed in range(5):
        assert played(seed, HOSTS, own_link(slow, 0.2), 0.02).named == {(host,) for host in slow}


def test_what_is_slow_once_is_not_named() -> None:
    made = played(1, HOSTS, own_link(["n3"], 0.3), 0.02).record
    second = [
        visit.model_copy(update={"forward": [1e9] * 6, "backward": [1e9] * 6, **at_once})
        if visit.stage == 2
        else visit
        for visit in made.links
        for at_once in ({"forward_at_once": [1e9] * 6, "backward_at_once": [1e9] * 6},)
    ]
    changed = made.model_copy(update={"links": second})
    assert {one.confirmed for one in links.slow(changed)} == {False}
    assert links.evidence(changed) == ([], [])


def test_what_was_not_measured_again_is_suspect() -> None:
    made = played(1, HOSTS, own_link(["n3"], 0.3), 0.02).record
    first = made.model_copy(update={"links": [visit for visit in made.links if visit.stage == 1]})
    against, _ = links.evidence(first)
    assert {(host, one.verdict) for host, one in against} == {("n3", SUSPECT)}
    assert against[0][1].text.endswith("not measured again")


def switches(folder: Path) -> Topology:
    file = folder / "topology.conf"  # as Slurm has it
    leaves = [f"SwitchName=s{number} Nodes=n[{8 * number + 1}-{8 * number + 8}]" for number in range(4)]
    file.write_text("\n".join([*leaves, "SwitchName=top Switches=s[0-3]"]))
    return read(file, rates=False)


def test_a_slow_path_between_two_switches_is_named(tmp_path: Path) -> None:
    def crossing(one: str, other: str) -> float:
        return 2.0 if {HOSTS.index(one) // 8, HOSTS.index(other) // 8} == {1, 2} else 1.0

    named = [played(seed, HOSTS, crossing, 0.02, switches(tmp_path)).named for seed in range(5)]
    assert named.count({("s1", "s2")}) >= 4  # a random sample may hold a single pair of the path
    assert set().union(*named) == {("s1", "s2")}


def test_a_slow_switch_is_named_and_not_its_hosts(tmp_path: Path) -> None:
    topology = switches(tmp_path)
    made = played(1, HOSTS, own_link(HOSTS[8:16], 0.3), 0.02, topology)
    assert made.named == {("s1",)}
    against, remarks = links.evidence(made.record, topology)
    assert against == []
    assert remarks[0].startswith("switch s1: rate of its slower direction ")


def test_evidence_against_a_host_has_both_values() -> None:
    made = played(1, HOSTS, own_link(["n3"], 0.5), 0.02).record
    (host, one), *_ = links.evidence(made)[0]
    assert (host, one.verdict) == ("n3", BAD)
    assert one.text.startswith("link: rate of its slower direction 495 MB/s")
    assert "with 6 partners, other hosts 9" in one.text
    assert links.sentence(made).startswith("Scope measured links between 1")


def failed(first: str, second: str) -> LinkVisit:
    return LinkVisit(
        first=first, second=second, stage=1, started_unix_s=1, ended_unix_s=2, error="no connection: timed out"
    )


def test_a_host_that_no_partner_reaches_is_suspect() -> None:
    made = played(1, HOSTS, own_link([], 0), 0.02).record
    cut = [failed(v.first, v.second) if "n7" in (v.first, v.second) else v for v in made.links]
    against, remarks = links.evidence(made.model_copy(update={"links": cut}))
    assert [(host, one.verdict) for host, one in against] == [("n7", SUSPECT)]
    assert "measurements with 6 partners all failed: no connection: timed out" in against[0][1].text
    assert remarks[-1].startswith("links: 6 of 96 measurements failed")


def test_links_that_nobody_could_measure_are_said_once() -> None:
    made = record(4).model_copy(update={"links": [failed("n1", "n2"), failed("n3", "n4")]})
    assert links.evidence(made) == ([], ["links: not measured: no connection: timed out"])


def test_two_hosts_are_too_few() -> None:
    made = played(1, HOSTS[:2], own_link(["n1"], 0.5), 0.02).record
    assert links.evidence(made)[1] == ["links: 2 hosts are too few to tell whose link is slow; 4 hosts are needed"]
