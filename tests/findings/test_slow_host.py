"""One host slower than its equals: injected faults are found, healthy clusters are left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hpcscope.findings.results import Run
from hpcscope.findings.run.network.slow_host import compare, find
from hpcscope.samples.records import Process
from hpcscope.samples.samples import CaseSamples, Floats
from tests.draws import draws
from tests.findings.evidence import evident
from tests.findings.faulty_runs import host_like


def cluster(
    run: Run,
    hosts: int,
    factors: dict[int, float],
    seed: int,
    spread: float = 0.005,
    launches_slow: int | None = None,
    called: str = "node{}",
) -> Run:
    """Spread the 16 ranks of node.stream over hosts, a little unequal by nature, some slower by `factors`.

    `launches_slow`: only in so many launches.
    """
    random = np.random.default_rng(seed)
    names = [called.format(i + 1) for i in range(hosts)]
    nature = np.exp(random.normal(0, spread, hosts))
    host_of = np.arange(16) * hosts // 16
    own = np.array([nature[h] * factors.get(h, 1.0) for h in host_of])
    numbers = sorted({launch.launch for launch in run.raw_samples.launches if launch.ranks == 16})
    cases: list[CaseSamples] = []
    for case in run.raw_samples.cases:
        if (case.case.benchmark, case.case.ranks) == ("node.stream", 16):
            times = case.times[0]
            noise = np.exp(random.normal(0, 0.02, times.elapsed_s.shape))
            slow = launches_slow is None or case.launch in numbers[:launches_slow]
            elapsed = np.median(times.elapsed_s) * (own if slow else nature[host_of])[:, None] * noise
            cases.append(replace(case, times=[replace(times, elapsed_s=elapsed)]))
    launches = [
        launch.model_copy(
            update={
                "processes": [
                    Process(rank=rank, host=names[host_of[rank]], pid=rank, processors=[rank % 4])
                    for rank in range(16)
                ]
            }
        )
        for launch in run.raw_samples.launches
        if launch.ranks == 16
    ]
    machine = run.machine.model_copy(update={"hosts": [host_like(run.machine.hosts[0], name) for name in names]})
    return run.replaced(machine=machine, raw_samples=replace(run.raw_samples, cases=cases, launches=launches))


@pytest.mark.parametrize("hosts", [4, 8, 16])
@pytest.mark.parametrize("slower", [1.08, 1.5])
def test_a_slow_host_is_named(healthy_run: Run, hosts: int, slower: float) -> None:
    for seed in range(10):
        found = find(cluster(healthy_run, hosts, {2: slower}, seed))
        assert [finding.where["host"] for finding in found] == ["node3"]
        assert found[0].lost == pytest.approx(1 - 1 / slower, abs=0.02)


def test_hosts_with_one_first_label_are_told_apart(healthy_run: Run) -> None:
    found = find(cluster(healthy_run, 8, {2: 1.3}, 0, called="node.rack{}.x"))
    assert [finding.where["host"] for finding in found] == ["node.rack3.x"]


def test_two_slow_hosts_of_eight_are_both_named(healthy_run: Run) -> None:
    found = find(cluster(healthy_run, 8, {2: 1.2, 5: 1.3}, seed=1))
    assert {finding.where["host"] for finding in found} == {"node3", "node6"}


@pytest.mark.parametrize("slow", [{0, 1}, {0, 2, 5}, {1, 3, 4, 7}, {0, 1, 2, 3, 6}])
def test_many_slow_hosts_of_eight_are_named(healthy_run: Run, slow: set[int]) -> None:
    for seed in range(5):
        found = find(cluster(healthy_run, 8, dict.fromkeys(slow, 1.2), seed))
        assert {finding.where["host"] for finding in found} == {f"node{i + 1}" for i in slow}
        assert all(f" {8 - len(slow)} hosts" in finding.title for finding in found), "how many others there are"
        assert len({finding.cause for finding in found}) == 1


def test_one_fast_host_makes_no_slow_ones(healthy_run: Run) -> None:
    assert find(cluster(healthy_run, 8, {4: 0.8}, seed=1)) == []


def test_a_host_that_is_slow_in_some_launches_is_named_with_their_share(healthy_run: Run) -> None:
    for seed in range(10):
        (found,) = find(cluster(healthy_run, 8, {2: 1.3}, seed, launches_slow=4))
        assert found.where["host"] == "node3"
        evident(found, ("4 of 6 launches", ""))
        assert found.lost == pytest.approx((1 - 1 / 1.3) * 4 / 6, abs=0.02)


def excesses(table: Floats) -> tuple[list[dict[str, float]], list[str]]:
    """Return what `compare` takes, from log times of shape (launches, hosts)."""
    names = [f"node{i}" for i in range(table.shape[1])]
    middle = np.median(table, axis=1, keepdims=True)
    return [dict(zip(names, row, strict=True)) for row in (table - middle).tolist()], names


@pytest.mark.parametrize("launches", [6, 12])
@pytest.mark.parametrize("hosts", [8, 64])
def test_hosts_that_are_all_slow_now_and_then_raise_no_alarm(hosts: int, launches: int) -> None:
    """Each is a third slower in 15 % of the launches; one that is so in nearly all is told from the others."""
    random = np.random.default_rng(12)
    alarms, found = 0, 0
    for _ in range(60):
        table = 0.02 * random.normal(size=(launches, hosts)) + 0.3 * (random.random((launches, hosts)) < 0.15)
        alarms += any(one.slow_launches for one in compare(*excesses(table)))
        table[:, 3] += 0.3
        found += [one.host for one in compare(*excesses(table)) if one.slow_launches] == ["node3"]
    assert alarms <= 3, "one in a hundred may have one"
    assert found >= 42


def test_eight_percent_are_found_among_noise_of_five_in_twelve_launches() -> None:
    random = np.random.default_rng(13)
    found = 0
    for _ in range(100):
        table = 0.05 * random.normal(size=(12, 8))
        table[:, 2] += np.log(1.08)
        found += [one.host for one in compare(*excesses(table)) if one.slow_launches] == ["node2"]
    assert found >= 80


def test_the_chance_is_that_of_all_ways_to_draw_a_host_in_each_launch() -> None:
    """Slow in four of six launches, and no other host ever: a chance of (1 / 8)^4, for each of eight hosts."""
    table = np.zeros((6, 8))
    table[:4, 5] = 0.3
    (slow,) = [one for one in compare(*excesses(table)) if one.slow_launches]
    assert slow.chance == pytest.approx(8 / 8**4)


def test_one_slow_launch_is_no_slow_host(healthy_run: Run) -> None:
    for seed in range(10):
        assert find(cluster(healthy_run, 8, {2: 1.3}, seed, launches_slow=1)) == []


@pytest.mark.parametrize("hosts", [8, 64])
def test_launches_with_heavy_tails_raise_no_alarm(hosts: int) -> None:
    """One in a hundred of such clusters may have one."""
    random = np.random.default_rng(11)
    alarms = 0
    for _ in range(100):
        table = random.normal(0, 0.005, hosts) + 0.015 * random.standard_t(3, (6, hosts))
        alarms += any(one.slow_launches for one in compare(*excesses(table)))
    assert alarms <= 3


@pytest.mark.parametrize("hosts", [4, 8, 16])
def test_healthy_clusters_raise_no_alarm(healthy_run: Run, hosts: int) -> None:
    alarms = sum(bool(find(cluster(healthy_run, hosts, {}, seed))) for seed in range(100, 140))
    assert alarms == 0


@pytest.mark.simulation
@draws(30, 100)
@pytest.mark.parametrize("hosts", [4, 8, 16])
def test_a_few_percent_by_nature_are_seldom_taken_for_a_fault(healthy_run: Run, hosts: int, draws: int) -> None:
    alarms = sum(
        bool(find(cluster(healthy_run, hosts, {}, seed, spread=0.02))) for seed in range(200, 200 + draws)
    )
    assert alarms <= draws // 10


def test_three_hosts_cannot_tell(healthy_run: Run) -> None:
    assert find(cluster(healthy_run, 3, {1: 2.0}, seed=1)) == []


def test_a_different_kind_of_host_is_not_compared(healthy_run: Run) -> None:
    run = cluster(healthy_run, 4, {2: 2.0}, seed=1)
    hosts = list(run.machine.hosts)
    other = hosts[2].processor.model_copy(update={"model": "Another"})
    hosts[2] = hosts[2].model_copy(update={"processor": other})
    assert find(run.replaced(machine=run.machine.model_copy(update={"hosts": hosts}))) == []
