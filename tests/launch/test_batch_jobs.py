"""What each batch system says of a job, inside it and outside; its programs are played."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch import scheduler, schedulers
from hpcscope.launch.scheduler import Request
from hpcscope.launch.schedulers import gridengine, lsf, pbs
from hpcscope.launch.site import site_of
from hpcscope.machine.machine import MpiInstallation
from hpcscope.settings.experiment import LauncherSettings
from hpcscope.settings.hosts import HostSlots
from tests.launch.batch_requests import FULL
from tests.launch.played import play

MPI = MpiInstallation(name="mpich", version="5.0", origin="path", compiler="/x/mpicxx", launcher="/bin/true")


@pytest.fixture(autouse=True)
def _no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("SLURM_", "PBS_", "LSB_", "SGE_", "SCOPE_JOB")):
            monkeypatch.delenv(name)


def test_a_pbs_job_has_the_hosts_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("a\na\nb\nc\n")
    end = {scheduler.END: "1800000000"}
    granted = pbs.SCHEDULER.allocation({"PBS_NODEFILE": str(tmp_path / "nodes"), "PBS_JOBID": "7.head", **end})
    assert granted is not None
    assert granted.slots == {"a": 2, "b": 1, "c": 1}
    assert (granted.title, granted.job, granted.end_unix_s) == ("PBS", "7.head", 1.8e9)
    assert pbs.SCHEDULER.allocation({}) is None


def test_an_lsf_job_has_the_hosts_of_its_file_or_variable(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("b\nb\na\na\n")
    pairs = {"LSB_JOBID": "8", "LSB_MCPU_HOSTS": "a 2 b 1"}
    granted = lsf.SCHEDULER.allocation(pairs)
    assert granted is not None
    assert (granted.slots, granted.end_unix_s) == ({"a": 2, "b": 1}, None)
    granted = lsf.SCHEDULER.allocation({**pairs, "LSB_DJOB_HOSTFILE": str(tmp_path / "hosts")})
    assert granted is not None
    assert list(granted.slots.items()) == [("b", 2), ("a", 2)]
    assert lsf.SCHEDULER.allocation({"LSB_MCPU_HOSTS": "a 2"}) is None


def test_a_grid_engine_job_has_the_hosts_of_its_file(tmp_path: Path) -> None:
    job = {"SGE_JOB_SPOOL_DIR": "/spool/9.1", "JOB_ID": "9", "HOSTNAME": "a"}
    alone = gridengine.SCHEDULER.allocation(job)
    assert alone is not None
    assert (alone.job, alone.slots) == ("9", {"a": None})
    (tmp_path / "hosts").write_text(
        "b 2 all.q@b UNDEFINED\na 1 all.q@a UNDEFINED\na 1 long.q@a UNDEFINED\nc 1 q UNDEFINED\n"
    )
    granted = gridengine.SCHEDULER.allocation({**job, "PE_HOSTFILE": str(tmp_path / "hosts")})
    assert granted is not None
    assert list(granted.slots.items()) == [("b", 2), ("a", 2), ("c", 1)]
    assert gridengine.SCHEDULER.allocation({"JOB_ID": "9"}) is None


def test_a_grid_engine_job_is_seen_waiting_running_and_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = 'error reason    1:      11/24/2026 00:45:12 [0:18889]: error: can\'t open output file "/x"'

    def state(letters: str, **says: str) -> scheduler.JobState:
        line = f"     25 0.50000 scope-a    me   {letters}  11/24/2026 00:47:31 all.q@a   1"
        table = f"job-ID  prior   name       user  state\n-----\n      2 0.5 x me r\n{line}\n{why}"
        play(tmp_path, monkeypatch, **{"qstat": table, "qacct": "!error: job id 25 not found", **says})
        return gridengine.SCHEDULER.state_of("25")

    for letters, pending in {"qw": True, "Rq": True, "r": False, "Rr": False, "t": False, "dr": False}.items():
        seen = state(letters)
        assert (seen.pending, seen.ended, seen.stuck) == (pending, False, False), letters
    held = state("hqw")
    assert (held.stuck, held.reason) == (True, "held")
    fault = state("Eqw")
    assert (fault.stuck, fault.reason) == (True, 'can\'t open output file "/x"')
    gone = state("r", qstat="job-ID  prior")
    assert (gone.ended, gone.exit_code) == (True, None)
    accounts = "exit_status  0\n=====\nexit_status  124"
    assert state("r", qstat="job-ID  prior", qacct=accounts).exit_code == 124
    with pytest.raises(ScopeError, match=r"^qstat: commlib error: got select error$"):
        state("r", qstat="!error: commlib error: got select error")


def test_a_refusal_of_grid_engine_names_the_key_it_speaks_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(request: Request, said: str = "", rule: str = "4") -> str:
        play(tmp_path, monkeypatch, qconf=f"pe_name mpi\nallocation_rule    {rule}", qsub=f"!{said}\nExiting.")
        with pytest.raises(UsageError) as error:
            gridengine.SCHEDULER.submit(tmp_path / "script", request)
        return str(error.value)

    project = 'Unable to run job: job rejected: the requested project "physics" does not exist.'
    assert refused(FULL, project) == (
        'launcher.account = physics: qsub: the requested project "physics" does not exist'
    )
    assert refused(FULL, 'Unable to run job: unknown resource "exclusive".') == (
        'launcher.exclusive = true: qsub: unknown resource "exclusive"'
    )
    assert refused(FULL, "Unable to run job: error: no suitable queues.") == "qsub: no suitable queues"
    rule = refused(FULL, rule="$fill_up")
    assert rule.startswith("launcher.parallel_environment = mpi: ")
    assert all(each in rule for each in ("$fill_up", "4", "--ranks-per-host"))
    assert "-t 1-3" in refused(replace(FULL, arguments=("-t 1-3",)))


def test_mpiexec_takes_the_hosts_of_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nodes").write_text("a\na\nb\nb\n")
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    monkeypatch.setenv("PBS_JOBID", "7")

    def hosts(**asked: object) -> tuple[HostSlots, ...]:
        return site_of(MPI, LauncherSettings.read(asked), "x").hosts

    assert hosts() == (HostSlots("a", 2), HostSlots("b", 2))
    assert hosts(hosts=["b", "a:1"]) == (HostSlots("b", 2), HostSlots("a", 1))
    with pytest.raises(UsageError, match=r"launcher\.hosts = c: .*\b7\b.*\ba, b$"):
        hosts(hosts=["a", "c"])
    monkeypatch.setenv(scheduler.END, "1800000000")
    deadline = schedulers.deadline(40)
    assert deadline is not None
    assert deadline.unix_s == 1_799_999_960
    assert all(each in deadline.reason for each in ("40 s", "launcher.time_margin_s", "PBS job 7"))
