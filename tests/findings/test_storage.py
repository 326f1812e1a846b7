"""Findings about files: injected faults, and healthy file systems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.plan.case import Case
from hpcscope.statistics.summary import Summary
from tests import declared
from tests.findings.evidence import evident
from tests.findings.faulty_runs import run_kinds, with_summaries
from tests.findings.test_slow_host import cluster
from tests.models.curves import noisy, summary

LAUNCHES = range(1, 7)
KINDS = (
    *("storage_saturated", "slow_storage", "cache_answered", "small_transfers", "unaligned_transfers"),
    *(
        "storage_launches_differ",
        "shared_file_serializes",
        "collective_buffering",
        "fsync_not_honored",
        "metadata_storm",
        "open_outweighs",
    ),
)


def figure(
    value: float, metric: str = "bandwidth_bytes_per_s", benchmark: str = "storage.write", **given: Any
) -> Summary:
    """A figure of one case, measured in the launches that all cases share."""
    spelt = f"{benchmark} {metric} {sorted(given.items())}"
    times = noisy(np.random.default_rng(sum(spelt.encode())), value, spread=0.02)
    definition = "max_rank" if metric == "bandwidth_bytes_per_s" else "observed"
    unit = declared.catalog()[benchmark].metric[metric].unit
    known = {"ranks": 2, "work_bytes": 32 << 20, "unit": unit, "numbers": LAUNCHES}
    defaults = declared.catalog().defaults(benchmark)
    return summary(times, benchmark, metric, definition, **{**known, **defaults, **given})


def found(kind: str, run: Run, *summaries: Summary) -> list[Finding]:
    return run_kinds()[kind](with_summaries(run, list(summaries)))


def checked(findings: list[Finding], code: str, *evidence: tuple[float, str]) -> Finding:
    """Return the one finding, which must have this code and, within 5 %, this evidence."""
    (one,) = findings
    assert one.code == code
    assert one.advice.endswith(".")
    assert "  " not in one.title
    evident(one, *evidence, rel=0.05)
    return one


HEALTHY = [
    figure(200e6),
    figure(205e6, file="per_process"),
    figure(210e6, sync="none"),
    figure(150e6, transfer_bytes=64 << 10),
    figure(190e6, transfer_bytes=1_000_000),
    figure(195e6, interface="mpiio"),
    figure(198e6, interface="mpiio", access="collective"),
    figure(0.05, "sync_s"),
    figure(180e6, benchmark="storage.read", cache="dropped"),
    figure(0.001, "resident_share", "storage.read", cache="dropped"),
    figure(9000.0, "create_per_s", "storage.metadata"),
    figure(10000.0, "create_per_s", "storage.metadata", folder="own"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_healthy_file_system_is_left_alone(kind: str, healthy_run: Run) -> None:
    assert found(kind, healthy_run, *HEALTHY) == []


def opening(open_s: float, time_s: float) -> list[Summary]:
    """A file that is written through MPI-IO: its opening in each launch, and the whole."""
    given = {"interface": "mpiio", "file_bytes": 4 << 20}
    return [figure(time_s, "time_s", **given), figure(open_s, "open_s", **given), figure(1e-4, "close_s", **given)]


def test_a_file_that_is_opened_for_most_of_the_time(healthy_run: Run) -> None:
    findings = found("open_outweighs", healthy_run, *opening(0.137, 0.204))
    one = checked(findings, "open-outweighs", (0.204, "s"), (0.137, "s"))
    assert one.where["interface"] == "mpiio"
    assert one.lost == pytest.approx(0.67, abs=0.03)
    assert found("open_outweighs", healthy_run, *opening(0.03, 0.204)) == []
    assert found("open_outweighs", healthy_run, *opening(0.0005, 0.001)) == []


def test_a_cache_that_answers_is_named(healthy_run: Run) -> None:
    read = {"benchmark": "storage.read", "cache": "cached"}
    one = checked(
        found("cache_answered", healthy_run, figure(8e9, **read), figure(0.9, "resident_share", **read)),
        "cache-answered",
        (8e9, "B/s"),
        (0.9, ""),
    )
    assert "cache=dropped" in one.advice
    assert (one.severity, one.about) == ("information", "cluster")


def test_a_file_system_that_keeps_files_despite_being_asked_is_not_to_be_trusted(healthy_run: Run) -> None:
    read = {"benchmark": "storage.read", "cache": "dropped"}
    findings = found("cache_answered", healthy_run, figure(8e9, **read), figure(0.4, "resident_share", **read))
    one = checked(findings, "cache-answered", (8e9, "B/s"), (0.4, ""))
    assert (one.severity, one.about) == ("warning", "measurement")


def test_writes_that_end_in_memory(healthy_run: Run) -> None:
    findings = found("cache_answered", healthy_run, figure(200e6), figure(2e9, sync="none"))
    checked(findings, "cache-answered", (2e9, "B/s"), (200e6, "B/s"))


def test_small_transfers_and_what_is_large_enough(healthy_run: Run) -> None:
    sizes = {4 << 10: 10e6, 64 << 10: 120e6, 1 << 20: 195e6, 8 << 20: 200e6}
    findings = found(
        "small_transfers", healthy_run, *(figure(rate, transfer_bytes=n) for n, rate in sizes.items())
    )
    one = checked(findings, "small-transfers", (10e6, "B/s"), (200e6, "B/s"))
    assert one.where["transfer_bytes"] == 4 << 10
    assert "1 MiB" in one.advice, "what is large enough"
    assert one.lost == pytest.approx(0.95, abs=0.01)


def test_unaligned_transfers(healthy_run: Run) -> None:
    sizes = {16 << 10: 150e6, 47008: 60e6, 64 << 10: 180e6}
    cases = [figure(rate, transfer_bytes=size) for size, rate in sizes.items()]
    findings = found("unaligned_transfers", healthy_run, *cases)
    one = checked(findings, "unaligned-transfers", (60e6, "B/s"), (150e6, "B/s"), (4096, "B"))
    assert one.where["transfer_bytes"] == 47008
    assert one.lost == pytest.approx(0.6, abs=0.03)


def test_a_shared_file_that_serializes(healthy_run: Run) -> None:
    pair = (figure(50e6, ranks=4), figure(200e6, ranks=4, file="per_process"))
    one = checked(
        found("shared_file_serializes", healthy_run, *pair),
        "shared-file-serializes",
        (50e6, "B/s"),
        (200e6, "B/s"),
    )
    assert one.where["ranks"] == 4
    alone = (figure(50e6, ranks=1), figure(200e6, ranks=1, file="per_process"))
    assert found("shared_file_serializes", healthy_run, *alone) == [], "one process shares with nobody"


def test_collective_buffering_that_costs_more_than_it_brings(healthy_run: Run) -> None:
    mpi = {"interface": "mpiio"}
    findings = found(
        "collective_buffering", healthy_run, figure(200e6, **mpi), figure(80e6, access="collective", **mpi)
    )
    one = checked(findings, "collective-buffering", (80e6, "B/s"), (200e6, "B/s"))
    assert one.lost == pytest.approx(0.6, abs=0.02)
    assert "fcoll" in one.advice


def test_a_flush_that_flushes_nothing(healthy_run: Run) -> None:
    writes = (figure(2e9), figure(2.02e9, sync="none"))
    findings = found("fsync_not_honored", healthy_run, *writes, figure(1e-6, "sync_s"))
    assert checked(findings, "fsync-not-honored", (1e-6, "s"), (2e9, "B/s")).severity == "warning"
    assert found("fsync_not_honored", healthy_run, *writes, figure(0.01, "sync_s")) == []


def test_a_metadata_storm_names_the_operation(healthy_run: Run) -> None:
    shared = {"benchmark": "storage.metadata"}
    own = {**shared, "folder": "own"}
    findings = found(
        "metadata_storm",
        healthy_run,
        figure(1000.0, "create_per_s", **shared),
        figure(9000.0, "create_per_s", **own),
        figure(8000.0, "stat_per_s", **shared),
        figure(9000.0, "stat_per_s", **own),
    )
    one = checked(findings, "metadata-storm", (1000.0, "1/s"), (9000.0, "1/s"))
    assert one.lost == pytest.approx(8 / 9, abs=0.01)


def files(run: Run, slow: Callable[[int, int], bool], hosts: int = 4) -> Run:
    """Files of 16 ranks on equal hosts; `slow`: whether a rank takes 40 ms in a launch instead of 10."""
    spread = cluster(run, hosts, {}, seed=1)
    defaults = declared.catalog().defaults("storage.write")
    cases = []
    for one in spread.raw_samples.cases:
        times = one.times[0]
        factors = [4.0 if slow(one.launch, rank) else 1.0 for rank in times.ranks_kept.tolist()]
        elapsed = 0.01 * np.array(factors)[:, None] * np.ones_like(times.elapsed_s)
        case = Case.of(run.benchmarks, "storage.write", {**defaults, "file": "per_process"}, one.case.batch)
        cases.append(replace(one, case=case, times=[replace(times, elapsed_s=elapsed)]))
    case = cases[0].case
    bandwidth = figure(1e9, file="per_process").model_copy(
        update={name: getattr(case, name) for name in Case.model_fields}
    )
    samples = replace(spread.raw_samples, cases=list({one.launch: one for one in cases}.values()))
    return with_summaries(spread.replaced(raw_samples=samples), [bandwidth])


def host_of(rank: int) -> int:
    return rank // 4


def test_a_slow_client_is_named(healthy_run: Run) -> None:
    run = files(healthy_run, lambda _launch, rank: host_of(rank) == 2)
    one = checked(run_kinds()["slow_storage"](run), "slow-storage-client", (4.0, ""))
    assert one.where["host"] == "node3"
    assert one.lost == pytest.approx(0.75)


def test_files_on_a_slow_server(healthy_run: Run) -> None:
    run = files(healthy_run, lambda launch, rank: rank % 5 == launch % 5)
    one = checked(run_kinds()["slow_storage"](run), "slow-storage-server", (4.0, ""))
    assert "host" not in one.where


def test_launches_whose_files_lie_on_a_slow_server(healthy_run: Run) -> None:
    run = files(healthy_run, lambda launch, _rank: launch < 10)
    one = checked(run_kinds()["storage_launches_differ"](run), "storage-launches-differ", (0.04, "s"), (0.01, "s"))
    assert one.lost == pytest.approx(0.75)
    assert run_kinds()["storage_launches_differ"](files(healthy_run, lambda _launch, rank: rank == 0)) == []


@pytest.mark.parametrize("share", [0, 12])
def test_even_clients_and_a_minority_of_fast_ones_are_left_alone(share: int, healthy_run: Run) -> None:
    run = files(healthy_run, lambda _launch, rank: rank < share)
    assert run_kinds()["slow_storage"](run) == []


def test_a_saturated_file_system(healthy_run: Run) -> None:
    counts = (1, 2, 4, 8, 16, 32)
    cases = [figure(ranks / (1 / 500e6 + ranks / 1e9), ranks=ranks) for ranks in counts]
    one = checked(found("storage_saturated", healthy_run, *cases), "storage-saturated", (1e9, "B/s"), (18, ""))
    assert one.where["ranks"] == 32
    linear = [figure(ranks * 100e6, ranks=ranks) for ranks in counts]
    assert found("storage_saturated", healthy_run, *linear) == []
