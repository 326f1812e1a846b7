"""Every kind of finding fires where it must and stays silent where it must; all together are in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run import find_all
from hpcscope.findings.run.at_stake import layer, weighed
from tests.findings.faulty_runs import Change, run_kinds
from tests.findings.kinds import algorithms, layers, measurement
from tests.findings.tried import Tried

KINDS: dict[str, Tried] = {**measurement.KINDS, **layers.KINDS, **algorithms.KINDS}
IN_TESTS_OF_THEIR_OWN = {
    "test_devices.py": (
        *("device_link_narrow", "device_link_slow", "device_slowed", "device_memory_errors"),
        *("device_persistence_off", "device_far_memory", "device_pageable_copies", "slow_device"),
    ),
    "test_applications.py": ("all_to_all_bound", "latency_bound", "second_core"),
    "test_collective_kinds.py": ("odd_process_count", "linear_collective", "unequal_blocks"),
    "test_large_clusters.py": ("slow_switch", "congestion", "buffer_bloat", "unfair_streams"),
    "test_intra_node.py": ("intra_node",),
    "test_lab.py": ("emulation_unfaithful", "flat_collective", "grid_against_topology"),
    "test_linear_algebra.py": ("process_grid_unsuitable", "panel_on_critical_path", "threads_over_cores"),
    "test_node.py": ("memory_saturated", "core_contention", "noise", "blas_older_processor", "blas_below_peak"),
    "test_paths.py": ("mtu_black_hole", "asymmetric_rates", "path_stops", "lossy_path"),
    "test_slow_host.py": ("slow_host",),
    "test_slow_pairs.py": ("slow_pair",),
    "test_storage.py": (
        *("storage_saturated", "slow_storage", "cache_answered", "small_transfers", "unaligned_transfers"),
        *(
            "storage_launches_differ",
            "shared_file_serializes",
            "collective_buffering",
            "fsync_not_honored",
            "metadata_storm",
            "open_outweighs",
        ),
    ),
    "test_tcp_start.py": ("tcp",),
    "test_waves.py": ("many_small_receives",),
}
"""Kinds whose contexts need more than a change of the golden run."""


def changes(of: str) -> list[object]:
    return [
        pytest.param(kind, tried.code, change, id=f"{kind}-{number}")
        for kind, tried in KINDS.items()
        for number, change in enumerate(getattr(tried, of))
    ]


@pytest.mark.parametrize(("kind", "code", "change"), changes("fires"))
def test_it_fires_where_it_must(kind: str, code: str, change: Change, healthy_run: Run) -> None:
    found = run_kinds()[kind](change(healthy_run))
    assert any(finding.code.startswith(code) for finding in found)
    for finding in found:
        assert finding.title
        assert "  " not in finding.title
        assert finding.evidence
        assert finding.advice.endswith(".")
        assert finding.where


@pytest.mark.parametrize(("kind", "code", "change"), changes("silent"))
def test_it_stays_silent_where_it_must(kind: str, code: str, change: Change, healthy_run: Run) -> None:
    assert [f.title for f in run_kinds()[kind](change(healthy_run)) if f.code.startswith(code)] == []


def test_every_kind_is_tried_once() -> None:
    own = [kind for kinds in IN_TESTS_OF_THEIR_OWN.values() for kind in kinds]
    assert sorted([*KINDS, *own]) == sorted(run_kinds())


@pytest.mark.parametrize("file", IN_TESTS_OF_THEIR_OWN)
def test_tests_of_their_own_try_them(file: str) -> None:
    text = Path(__file__).with_name(file).read_text()
    assert [kind for kind in IN_TESTS_OF_THEIR_OWN[file] if not re.search(rf"\b{kind}\b", text)] == []


def test_worst_first(healthy_run: Run) -> None:
    order = ["error", "warning", "advice", "information"]
    found = find_all(healthy_run)
    places = [(finding.about == "measurement", order.index(finding.severity)) for finding in found]
    assert places == sorted(places)
    assert {about for about, _ in places} == {False, True}
    advice = [
        f.lost or 0.0 if f.at_stake is None else f.at_stake
        for f in found
        if f.severity == "advice" and f.about == "cluster"
    ]
    assert advice == sorted(advice, reverse=True)
    assert advice[0] > 0


def test_findings_of_one_cause_are_one(healthy_run: Run) -> None:
    found = find_all(healthy_run)
    causes = [(finding.about, finding.cause) for finding in found if finding.cause]
    assert len(causes) == len(set(causes))
    alone = [finding for kind in run_kinds().values() for finding in kind(healthy_run)]
    titles = sorted(title for finding in found for title in (finding.title, *finding.also))
    assert titles == sorted(finding.title for finding in alone)


def test_what_is_at_stake_is_the_loss_times_the_time_that_programs_spend_on_it(healthy_run: Run) -> None:
    found = [one for one in find_all(healthy_run) if one.lost and one.about == "cluster"]
    told = [one for one in found if one.at_stake is not None]
    assert {layer(one) for one in told} <= {"mpi", "node"}
    assert "mpi" in {layer(one) for one in told}
    assert all(0 < (one.at_stake or 0.0) < (one.lost or 0.0) for one in told)
    assert "algorithm" in {layer(one) for one in found}, "one algorithm's loss is not that of all programs"


def test_nothing_is_at_stake_where_no_program_does_it(healthy_run: Run) -> None:
    def stake(benchmark: str) -> float | None:
        one = Finding(
            code="c",
            severity="advice",
            title="t",
            where={"benchmark": benchmark},
            evidence=[],
            advice="a",
            lost=0.5,
        )
        return weighed([one], healthy_run)[0].at_stake

    assert stake("mpi.latency") is not None, "its programs exchange messages"
    assert stake("node.stream") is not None
    assert stake("mpi.scan") is None
    assert stake("mpi.one_sided") is None
    assert stake("node.lapack") is None, "none of its programs needs a BLAS"


def test_the_golden_run_s_findings(healthy_run: Run) -> None:
    assert {finding.code for finding in find_all(healthy_run)} == {
        "communication-outweighs",
        "wrong-data",
        "self-consistency",
        "noisy-case",
        "bandwidth-below-layer",
        "protocol-switch",
        "memory-shared",
        "skipped-cases",
    }
