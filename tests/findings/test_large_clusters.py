"""What is slow in samples of random pairs, and what a load of others costs, from samples as they are written."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hpcscope.findings.results import Run
from hpcscope.findings.run.network import buffer_bloat, congestion, slow_switch, unfair_streams
from hpcscope.models.communication.congestion import congestion as impacts
from hpcscope.models.communication.random_pairs import partners, random_pairs
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import Process
from hpcscope.samples.samples import CaseSamples, Floats, Samples, Times
from hpcscope.statistics.summary import Summary
from hpcscope.topology.topology import Group, Topology
from tests.declared import catalog
from tests.findings.evidence import evident
from tests.models.curves import noisy, summary

HOSTS, PER_SWITCH, ROUNDS, LAUNCHES = 64, 8, 20, 6
REPETITIONS = 120


def series(rows: Floats, ranks: list[int], medians: Floats | None = None, **observed: Floats) -> Times:
    """Times of one visit; all repetitions count."""
    count = rows.shape[1]
    return Times(
        cadence="isolated", synchronization="none", operations=np.ones(count, np.int64),
        warmup=np.zeros(count, np.bool_), ranks_kept=np.array(ranks),
        elapsed_s=rows, entry_s=None, valid=np.ones(count, np.bool_), observed=observed, extremes=None,
        medians_s=medians,
    )  # fmt: skip


def case(run: Run, launch: int, benchmark: str, ranks: int, chosen: dict[str, Any], times: Times) -> CaseSamples:
    like = next(one for one in run.raw_samples.cases if one.ok)
    made = Case.of(catalog(), benchmark, chosen, (ranks, "default", Placement("node")))
    return replace(like, case=made, launch=launch, attempt=1, status="ok", times=[times])


def switches() -> Topology:
    rates: dict[str, Any] = {"level": "cluster", "latency_s": 1e-6, "bandwidth_bytes_per_s": 1e10}
    leaves = [
        Group(name=f"s{n}", parent="all", hosts=[f"h{n * PER_SWITCH + i}" for i in range(PER_SWITCH)], **rates)
        for n in range(HOSTS // PER_SWITCH)
    ]
    return Topology(origin="emulated", group=[Group(name="all", **rates), *leaves])


def sampled(run: Run, slow: Floats, path: tuple[int, int] | None = None, few: bool = True) -> Run:
    """A run of random pairs in which `slow` is each host's factor, `path` two switches twice as far apart."""
    random = np.random.default_rng(6)
    switch = np.arange(HOSTS) // PER_SWITCH
    cases = []
    for launch in range(1, LAUNCHES + 1):
        for number in range(1, ROUNDS + 1):
            other = partners(number, HOSTS)
            times = 4e-6 * slow * slow[other] * random.normal(1, 0.01, HOSTS)
            if path:
                ends = np.sort(np.array([switch, switch[other]]), axis=0)
                times = np.where((path == ends.T).all(axis=1), 2 * times, times)
            times = np.fmax(times, times[other])
            kept = [0, HOSTS - 1] if few else list(range(HOSTS))
            one = series(np.tile(times[kept][:, None], 5), kept, times if few else None)
            chosen = {"message_bytes": 1024, "round": number}
            cases.append(case(run, launch, "mpi.random_pairs", HOSTS, chosen, one))
    processes = [Process(rank=rank, host=f"h{rank}.site", pid=rank + 1, processors=[0]) for rank in range(HOSTS)]
    launches = [
        one.model_copy(update={"ranks": HOSTS, "processes": processes}) for one in run.raw_samples.launches
    ]
    samples: Samples = replace(run.raw_samples, cases=cases, launches=launches)
    found = random_pairs(samples, run.benchmarks, switches())
    models = run.models.model_copy(update={"random_pairs": found})
    return run.replaced(raw_samples=samples, models=models)


def equal() -> Floats:
    return np.ones(HOSTS)


@pytest.mark.parametrize("few", [True, False])
def test_a_slow_host_is_named_from_medians_as_from_all_times(healthy_run: Run, few: bool) -> None:
    slow = equal()
    slow[11] = 1.5
    made = sampled(healthy_run, slow, few=few)
    (sample,) = made.models.random_pairs
    assert (sample.rounds, sample.launches, sample.of_pairs) == (ROUNDS, LAUNCHES, HOSTS * (HOSTS - 1) // 2)
    assert sample.pairs <= ROUNDS * HOSTS // 2
    assert sample.excess[11] == pytest.approx(0.5, abs=0.02)
    (finding,) = slow_switch.find(made)
    assert finding.code == "slow-host-messages"
    assert finding.where["host"] == "h11.site"
    evident(finding, (0.5, ""), rel=0.02)


def test_a_slow_switch_is_told_as_one_not_as_its_hosts(healthy_run: Run) -> None:
    slow = equal()
    slow[3 * PER_SWITCH : 4 * PER_SWITCH] = 1.4
    (finding,) = slow_switch.find(sampled(healthy_run, slow))
    assert finding.code == "slow-switch"
    assert finding.where["host"] == "s3"
    evident(finding, (0.4, ""), rel=0.02)


def test_a_slow_path_names_both_ends_and_the_chance_to_see_it(healthy_run: Run) -> None:
    made = sampled(healthy_run, equal(), path=(2, 5))
    (finding,) = slow_switch.find(made)
    assert finding.code == "slow-path"
    assert finding.where["pair"] == "s2 and s5"
    (switch,) = made.models.random_pairs[0].attributes
    assert finding.evidence[-1].value == switch.chance > 0.99
    assert switch.between[2][5] == pytest.approx(2.0, rel=0.05)


def test_many_slow_hosts_are_one_finding(healthy_run: Run) -> None:
    slow = equal()
    slow[[1, 9, 17, 25, 33, 41, 49, 57, 2, 10]] = 1.5
    (finding,) = slow_switch.find(sampled(healthy_run, slow))
    named = re.findall(r"h\d+(?=\.site)", str(finding.where["host"]))
    assert len(set(named)) == 8
    assert set(named) <= {f"h{number}" for number in np.flatnonzero(slow > 1)}
    assert "2 more" in str(finding.where["host"])
    assert "10 of 64" in finding.title


def test_equal_hosts_are_left_alone(healthy_run: Run) -> None:
    assert slow_switch.find(sampled(healthy_run, equal())) == []


def congested(run: Run, factor: float, tail: float = 1.0) -> Run:
    """A run in which an incast costs a ring this factor, and one repetition in twenty `tail` times more."""
    random = np.random.default_rng(7)
    cases = []
    for launch in range(1, LAUNCHES + 1):
        for aggressor, times in (("none", 1.0), ("incast", factor)):
            alone = 2e-6 * random.normal(1, 0.02, REPETITIONS)
            beside = times * 2e-6 * random.normal(1, 0.02, REPETITIONS)
            if aggressor != "none":
                beside[::20] *= tail
            both = series(
                np.array([0.5 * beside, beside]), [0, 1],
                isolated_s=np.tile(alone, (2, 1)), impact_factor=np.tile(beside / alone, (2, 1)),
            )  # fmt: skip
            cases.append(case(run, launch, "mpi.congestion", 8, {"aggressor": aggressor}, both))
    samples: Samples = replace(run.raw_samples, cases=cases)
    models = run.models.model_copy(update={"congestion": impacts(samples, run.benchmarks)})
    return run.replaced(raw_samples=samples, models=models)


def test_the_impact_of_a_load_is_told_at_the_median_and_in_the_tail(healthy_run: Run) -> None:
    made = congested(healthy_run, 3.0, tail=10.0)
    control, loaded = made.models.congestion
    assert control.median.value == pytest.approx(1.0, abs=0.02)
    assert loaded.median.value == pytest.approx(3.0, rel=0.02)
    assert loaded.tail is not None
    assert loaded.tail.value == pytest.approx(30.0, rel=0.1)
    assert loaded.median.low is not None
    assert loaded.median.low < 3.0 < (loaded.median.high or 0)
    (finding,) = congestion.find(made)
    assert finding.code == "congestion"
    evident(finding, (3.0, ""), (30.0, ""), (1.0, ""), (LAUNCHES, ""), rel=0.1)


def streams(round_trip_s: float, fairness: float) -> list[Summary]:
    """Summaries of a load that makes a round trip of 50 µs as long as this, and shares like this."""
    random = np.random.default_rng(8)
    figures = {
        "round_trip_s": round_trip_s,
        "isolated_s": 5e-5,
        "fairness": fairness,
        "bandwidth_bytes_per_s": 12e6,
    }
    defaults = catalog().defaults("network.congestion")
    return [
        summary(
            noisy(random, value, spread=0.01), "network.congestion", metric,
            "local" if metric == "round_trip_s" else "observed", **defaults,
        )
        for metric, value in figures.items()
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("round_trip_s", "fairness", "codes"),
    [
        (5e-3, 0.98, []),
        (0.2, 0.98, ["buffer-bloat"]),
        (5e-3, 0.5, ["unfair-streams"]),
        (0.2, 0.5, ["buffer-bloat", "unfair-streams"]),
    ],
)
def test_long_queues_and_unequal_shares_are_told(
    healthy_run: Run, round_trip_s: float, fairness: float, codes: list[str]
) -> None:
    made = healthy_run.replaced(statistics=streams(round_trip_s, fairness))
    found = [*buffer_bloat.find(made), *unfair_streams.find(made)]
    assert [one.code for one in found] == codes
    for one in found:
        assert one.advice.endswith(".")
    if "buffer-bloat" in codes:
        # 0.2 s at 12 MB/s
        evident(found[0], (0.2, "s"), (50e-6, "s"), (2.4e6, "B"), rel=0.05)


def test_a_load_that_costs_little_is_no_finding(healthy_run: Run) -> None:
    assert congestion.find(congested(healthy_run, 1.2)) == []
