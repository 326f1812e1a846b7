from __future__ import annotations

import re
from dataclasses import replace

from hpcscope.findings.results import Run
from hpcscope.findings.run.measurement.failed_case import find
from hpcscope.samples.records import RankState
from tests.findings.faulty_runs import with_samples


def arrival(rank: int, host: str, arrived: bool) -> RankState:
    return RankState(
        rank=rank,
        host=host,
        pid=100 + rank,
        stage="sampling",
        repetition=812,
        last_heartbeat_s=12.5,
        state="running" if arrived else "stopped",
        arrived=arrived,
    )


def test_ranks_and_hosts_that_did_not_arrive_are_named(healthy_run: Run) -> None:
    case = healthy_run.raw_samples.failures[0]
    hung = replace(
        case,
        status="timeout",
        reason="no end after 30 s",
        rank_states=[arrival(0, "node1", True), arrival(7, "node2", False), arrival(9, "node3", False)],
    )
    (found,) = find(with_samples(healthy_run, failures=[hung]))
    assert found.where["host"] == "node2, node3"
    assert found.where["rank"] == "7, 9"
    assert any(re.search("stopped.*sampling.*812", str(evidence.value)) for evidence in found.evidence)
    assert f"launches/{hung.launch:04d}-1/stderr.txt" in found.advice


def test_a_case_that_succeeded_later_stays_visible(healthy_run: Run) -> None:
    ok = next(case for case in healthy_run.raw_samples.cases if case.case.benchmark == "mpi.barrier")
    died = replace(ok, status="crashed", reason="signal 9 (Killed)", times=[])
    (found,) = find(with_samples(healthy_run, failures=[died]))
    assert found.lost is None
    assert any(evidence.value == "succeeded" for evidence in found.evidence)
