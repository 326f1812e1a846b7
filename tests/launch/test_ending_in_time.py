"""A run that its batch job gives no more time: it stops by itself, or is told when its ranks are dead already."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import replace

import pytest

from hpcscope.errors import InterruptedRunError, OutOfTimeError
from hpcscope.launch.schedulers import Deadline
from hpcscope.launch.supervision import supervisor as supervision
from hpcscope.plan.plan import Launch, Plan
from tests.launch.conftest import Trial


def endless(trial: Trial) -> Plan:
    return trial.endless(trial.plan("node.timer", "mpi.latency message_bytes=8"), "mpi.latency")


def test_a_run_stops_at_its_deadline_and_loses_only_the_case_that_ran(trial: Trial) -> None:
    plan = endless(trial)
    watched = replace(trial.supervisor(), deadline=Deadline(time.time() + 600, "the job ends"))

    def draw_near(launch: Launch, attempt: int) -> None:
        position = next((i for i, case in enumerate(launch.cases) if case.benchmark == "mpi.latency"), None)
        if position is not None:
            trial.wait_for(launch, attempt, position, 0)
            watched.deadline = Deadline(time.time(), "the job ends")

    trial.harm = draw_near
    with pytest.raises(OutOfTimeError, match=r"^the job ends$") as stopped:
        watched.supervise(plan, trial)
    assert stopped.value.exit_code == 124
    assert trial.survivors() == []
    done = {record["benchmark"] for record in trial.records()}
    assert "mpi.latency" not in done
    trial.harm = None
    rest = replace(plan, launches=trial.plan("node.timer", "mpi.latency message_bytes=8").launches)
    assert trial.supervisor().supervise(rest, trial)
    assert sorted(record["benchmark"] for record in trial.records()) == ["mpi.latency", "node.timer"]


def test_no_launch_begins_after_the_deadline(trial: Trial) -> None:
    late = replace(trial.supervisor(), deadline=Deadline(time.time() - 1, "the job ends"))
    with pytest.raises(OutOfTimeError):
        late.supervise(trial.plan("node.timer"), trial)
    assert trial.heard == []


def test_ranks_that_die_before_the_run_is_told_to_end_are_not_blamed(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is told while it waits whether its job ends."""
    sleep, waits_s = time.sleep, 86_400.0

    def told_meanwhile(seconds: float) -> None:
        if seconds == waits_s:
            raise KeyboardInterrupt
        sleep(seconds)

    def harm(launch: Launch, attempt: int) -> None:
        position = next((i for i, case in enumerate(launch.cases) if case.benchmark == "mpi.latency"), None)
        if position is not None:
            ranks = [trial.wait_for(launch, attempt, position, rank).pid for rank in (0, 1)]
            for rank in ranks:
                with suppress(ProcessLookupError):  # its launcher may end the second one first
                    os.kill(rank, signal.SIGKILL)

    trial.harm = harm
    monkeypatch.setattr(supervision.time, "sleep", told_meanwhile)
    with pytest.raises(InterruptedRunError):
        replace(trial.supervisor(), job_end_s=waits_s).supervise(endless(trial), trial)
    assert "mpi.latency" not in {record["benchmark"] for record in trial.records()}
