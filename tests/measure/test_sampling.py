"""How a case is sampled: how its ranks start, how often and how long it is repeated, and what is kept of it."""

from __future__ import annotations

import json
import os
from math import inf
from pathlib import Path
from statistics import median

import pytest

from hpcscope.machine import processors
from hpcscope.models.communication.random_pairs import partners
from hpcscope.samples.records import SentinelRecord
from tests.measure.conftest import Measure, only_case

LIMITS = "sampling.budget_s=600 sampling.precision=0 sampling.maximum_repetitions"
"""The number of repetitions ends a case, not the time that it takes."""


def test_late_starts_of_a_window_are_marked_and_kept(measure: Measure) -> None:
    # A clock that is ahead by a quarter of an hour: by it, every start is over before it is heard of.
    plan = [f"mpi.barrier sampling.synchronization=window {LIMITS}=10"]
    ended = measure(2, plan, action="run", SCOPE_FAULT="clock-skew:1:1000:0")
    series = only_case(ended).series[0]
    assert series.synchronization == "window"
    assert series.valid is not None
    assert not any(series.valid)
    assert [len(times) for times in series.elapsed_s] == [len(series.valid)] * 2
    assert len(series.valid) >= 10


@pytest.mark.parametrize(
    ("ranks", "processors", "synchronization"),
    [(2, 2, "window"), (3, 2, "dissemination"), (2, 1, "dissemination")],
)
def test_ranks_that_share_a_processor_do_not_wait_for_a_window(
    ranks: int, processors: int, synchronization: str, measure: Measure
) -> None:
    """Affinity decides, not the number of processors that the host has."""
    mine = os.sched_getaffinity(0)
    if len(mine) < processors:
        pytest.skip(f"needs {processors} processors")
    os.sched_setaffinity(0, sorted(mine)[:processors])
    try:
        case = only_case(measure(ranks, ["mpi.barrier"]))
    finally:
        os.sched_setaffinity(0, mine)
    assert {series.synchronization for series in case.series} == {synchronization}


def test_cold_operations_do_not_decide_how_often_one_is_repeated(measure: Measure) -> None:
    """The first two are slow, as gets under MPICH are: the third is as short as all that follow."""
    plan = [f"node.memory_copy array_bytes=64 {LIMITS}=10"]
    for fault in ("", "cold-start:0:0.0002"):
        case = only_case(measure(1, plan, action="run", SCOPE_FAULT=fault))
        assert case.series[0].operations >= 32, fault


def test_samples_are_raw_in_order_and_labelled(measure: Measure) -> None:
    ended = measure(2, [f"mpi.broadcast message_bytes=8 {LIMITS}=200 case.position=7"], action="run")
    case = only_case(ended)
    assert case.position == 7
    assert case.stopped == "repetitions"
    assert [series.cadence for series in case.series] == ["isolated", "streaming", "barrier_loop"]
    isolated, streaming, _ = case.series
    assert isolated.operations == 1
    assert streaming.operations >= 4
    assert isolated.warmup >= 1
    assert isolated.entry_s is not None
    for series in case.series:
        assert series.ranks_kept == [0, 1]
        assert len({len(times) for times in series.elapsed_s}) == 1
        assert len(series.elapsed_s[0]) > series.warmup


def test_long_operations_back_to_back_are_several_and_take_a_quarter_of_the_operations(measure: Measure) -> None:
    line = f"mpi.alltoall message_bytes={1 << 22} {LIMITS}=130"
    case = only_case(measure(2, [line], action="run"))
    assert case.verification is not None
    assert case.verification.passed
    assert [series.operations for series in case.series] == [1, 16, 16]
    isolated, *others = case.series
    assert len(isolated.elapsed_s[0]) == 130
    for series in others:
        assert len(series.elapsed_s[0]) == 130 // 64
        assert len(series.elapsed_s[0]) > series.warmup


def test_all_ranks_loop_as_often_as_the_one_with_least_room(measure: Measure) -> None:
    # The root receives 64 MiB from each operation, the other rank nothing.
    case = only_case(measure(2, [f"mpi.gather message_bytes={32 << 20} {LIMITS}=8"], action="run"))
    assert case.status == "ok", case.reason
    assert [series.operations for series in case.series] == [1, 2, 2]


def test_the_minimum_and_maximum_of_repetitions_are_kept(measure: Measure) -> None:
    ended = measure(2, [f"mpi.latency {LIMITS}=50 sampling.minimum_repetitions=20"], action="run")
    case = only_case(ended)
    assert case.stopped == "repetitions"
    assert len(case.series[0].elapsed_s[0]) == 50


def test_phases_sum_to_the_total(measure: Measure) -> None:
    ended = measure(4, [f"algorithm.matmul_cannon n=100 {LIMITS}=20"], action="run")
    series = only_case(ended).series[0]
    communication = ["distribute_s", "exchange_s", "collect_s"]
    phases = ["initialize_s", "compute_s", *communication, "idle_s"]
    assert sorted(series.observed) == sorted([*phases, "communicate_s", "solve_s", "last_arrival_share"])
    outside = []
    for rank, totals in enumerate(series.elapsed_s):
        for repetition, total in enumerate(totals):
            observed = {name: values[rank][repetition] for name, values in series.observed.items()}
            assert observed["communicate_s"] == pytest.approx(sum(observed[name] for name in communication))
            # Others may have begun after the root had initialized: theirs is no part of their own time.
            assert 0 < observed["solve_s"] < (total * 1.01 if rank == 0 else inf)
            assert 0 <= observed["last_arrival_share"] <= 1
            parts = [observed[phase] for phase in phases]
            assert all(part >= -1e-9 for part in parts)
            outside.append(1 - sum(parts) / total)
    assert min(outside) > -1e-6, "no two phases at a time"
    # What is outside is one call and one read of the clock: no processor is lost just there in every repetition.
    assert min(outside) < 0.02


def test_above_the_limit_of_ranks_extremes_are_kept(measure: Measure) -> None:
    whole = only_case(measure(4, ["mpi.broadcast message_bytes=8"])).series[0]
    assert whole.extremes is None
    assert whole.ranks_kept == [0, 1, 2, 3]
    few = only_case(measure(4, ["mpi.broadcast message_bytes=8"], "--keep-ranks=3")).series[0]
    assert few.ranks_kept == [0, 1, 3]
    assert few.extremes is not None
    assert few.entry_s is not None
    for repetition in range(len(few.elapsed_s[0])):
        kept = [times[repetition] for times in few.elapsed_s]
        low, high = few.extremes.minimum_s[repetition], few.extremes.maximum_s[repetition]
        assert low <= min(kept) <= max(kept) <= high
        assert low <= few.extremes.mean_s[repetition] <= high
        for rank, value in (("minimum", low), ("maximum", high)):
            who = getattr(few.extremes, f"{rank}_rank")[repetition]
            assert who == 2 or few.elapsed_s[few.ranks_kept.index(who)][repetition] == value


def test_of_pairs_every_rank_keeps_its_median_and_has_the_partner_that_is_computed(measure: Measure) -> None:
    ended = measure(5, ["mpi.random_pairs round=3 message_bytes=8"], "--keep-ranks=3")
    (series,) = only_case(ended).series
    medians = series.medians_s
    assert medians is not None
    assert len(medians) == 5
    # One of five rests; which one follows from the round.
    assert [rank for rank in range(5) if medians[rank] == 0] == [
        rank for rank, other in enumerate(partners(3, 5)) if other == rank
    ]
    first = series.elapsed_s[0][series.warmup :]
    assert min(first) <= medians[0] <= max(first)


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_sentinel_is_measured_between_cases(measure: Measure, ranks: int) -> None:
    plan = [f"node.memory_latency array_bytes={1 << 24} sampling.budget_s=0.25 sampling.precision=1e-9"] * 6
    ended = measure(ranks, [f"{line} case.position={number}" for number, line in enumerate(plan)], action="run")
    assert len(ended.cases) == 6
    found = [record for record in ended.records if isinstance(record, SentinelRecord)]
    if ranks > processors.usable():
        assert not found, "ranks that share processors would measure each other"
        return
    assert 2 <= len(found) <= 7
    moments = [one.started_unix_s for one in found]
    assert moments == sorted(moments)
    for one in found:
        assert one.ranks_kept == list(range(ranks))
        kept = (one.arithmetic_s, one.throughput_s, one.bandwidth_s, one.memory_s)
        assert [len(times_s) for times_s in kept] == [ranks] * 4
        assert min(map(min, kept)) > 0
        assert (one.ping_pong_s is not None) == (ranks > 1)
        assert one.duration_s >= sum(times_s[0] for times_s in kept)


def test_ranks_that_share_processors_have_no_sentinel(measure: Measure) -> None:
    ended = measure(processors.usable() + 1, ["mpi.barrier sampling.budget_s=0.05"], action="run")
    assert len(ended.cases) == 1
    assert not any(isinstance(record, SentinelRecord) for record in ended.records)


def test_the_journal_has_a_short_line_for_every_record(measure: Measure, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    plan = [
        "mpi.barrier case.position=4 sampling.synchronization=dissemination",
        f"node.stream array_bytes={2**40}",
    ]
    ended = measure(2, plan, f"--journal={journal}", "--launch=3", "--attempt=2", "--transport=tcp")
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    start = {"launch": 3, "attempt": 2}
    assert records[0] == {"record": "launch", **start, "transport": "tcp", "placement": "none"}
    assert records[-1] == {"record": "end", **start}
    barrier, stream = records[1:-1]
    case = ended.cases[0]
    series = case.series[0]
    assert barrier == {
        "record": "case",
        **start,
        "position": 4,
        "benchmark": "mpi.barrier",
        "parameters": case.parameters,
        "ranks": 2,
        "status": "ok",
        "stopped": case.stopped,
        "duration_s": pytest.approx(case.duration_s, rel=1e-6),
        "median_s": pytest.approx(case.median_s, rel=1e-6),
        "warmup": series.warmup,
    }
    assert (stream["status"], stream["median_s"], stream["warmup"]) == ("unavailable", None, 0)


def test_the_median_of_a_collective_is_from_the_first_entry_to_the_last_exit(measure: Measure) -> None:
    (case,) = measure(2, ["mpi.barrier sampling.synchronization=dissemination"]).cases
    series = case.series[0]
    assert series.entry_s is not None
    spans_s = [
        max(entry + elapsed for entry, elapsed in ranks) - min(entry for entry, _ in ranks)
        for ranks in zip(*map(zip, series.entry_s, series.elapsed_s), strict=True)
    ]
    counted = series.valid or [True] * len(spans_s)
    results_s = [span for span, counts in list(zip(spans_s, counted, strict=True))[series.warmup :] if counts]
    assert case.median_s == pytest.approx(median(results_s) / series.operations, rel=1e-6)
