"""Command lines of srun, what jobs say of themselves, and last words; Slurm's programs are played by a script."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch.diagnosis import diagnose
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.scheduler import JobState, Request
from hpcscope.launch.schedulers.slurm import SCHEDULER, job_state
from hpcscope.launch.site import start_command
from hpcscope.settings.hosts import HostSlots, hostnames
from tests.launch.played import play
from tests.launch.test_launchers import joined, mpi_of

HOSTS = (HostSlots("b", 2), HostSlots("a", 2))
SRUN = """#!/bin/bash
case $1 in
--version) echo slurm-wlm {version};;
*) printf 'MPI plugin types are...\\n'; printf '\\t%s\\n' {offered};;
esac
"""


def srun(folder: Path, version: str = "22.05.8", offered: str = "pmix none pmi2") -> str:
    path = folder / "srun"
    path.write_text(SRUN.format(version=version, offered=offered))
    path.chmod(0o755)
    return str(path)


def site(program: str, name: str = "openmpi", **facts: object) -> Site:
    return Site(mpi=mpi_of(name), mpiexec=program, kind="slurm", hosts=HOSTS, **facts)  # type: ignore[arg-type]


def test_every_rank_has_its_host_and_hosts_are_filled_in_order(tmp_path: Path) -> None:
    here = site(srun(tmp_path))
    words = joined(start_command(MpiProgram("p", ("--plan=x",), 3, binding="core"), here))
    assert "--ntasks=3 --nodes=2 --distribution=arbitrary --nodelist=b,b,a --export=ALL" in words
    assert "--overlap --cpu-bind=cores --mpi=pmix p --plan=x" in words
    words = joined(start_command(MpiProgram("p", (), 2, binding="socket"), here))
    assert "--nodes=1 --distribution=arbitrary --nodelist=b,b " in words
    assert "--cpu-bind=sockets" in words
    words = joined(start_command(MpiProgram("p", (), 2, ranks_per_host=1), here))
    assert "--nodes=2 --distribution=arbitrary --nodelist=b,a " in words
    assert "--cpu-bind=none" in words


def test_a_crowd_fills_all_hosts_alike_and_is_not_bound(tmp_path: Path) -> None:
    words = joined(
        start_command(MpiProgram("p", (), 7, binding="core", oversubscribed=True), site(srun(tmp_path)))
    )
    assert "--nodelist=b,b,b,b,a,a,a " in words
    assert "--overcommit --cpu-bind=none" in words


def test_transport_and_patience_reach_the_ranks_as_variables(tmp_path: Path) -> None:
    crowd = MpiProgram("p", (), 5, transport="tcp", oversubscribed=True)
    variables = start_command(crowd, site(srun(tmp_path), interface="eth1")).environment
    assert variables["OMPI_MCA_btl"] == "tcp,self"
    assert variables["OMPI_MCA_btl_tcp_if_include"] == "eth1"
    assert variables["OMPI_MCA_mpi_yield_when_idle"] == "1"
    assert variables["OMP_NUM_THREADS"]
    variables = start_command(crowd, site(srun(tmp_path), "mpich", interface="eth1")).environment
    assert (variables["FI_TCP_IFACE"], variables["MPIR_CVAR_POLLS_BEFORE_YIELD"]) == ("eth1", "10")


def test_the_interface_is_what_the_mpi_speaks_and_srun_offers(tmp_path: Path) -> None:
    assert "--mpi=pmi2" in start_command(MpiProgram("p", (), 1), site(srun(tmp_path), "mpich")).arguments
    (old := tmp_path / "old").mkdir()
    program = srun(old, "20.02.7", "none pmi2")
    with pytest.raises(UsageError, match=r"none, pmi2, .*openmpi .*pmix: .*--launcher mpiexec"):
        start_command(MpiProgram("p", (), 1), site(program))
    words = start_command(MpiProgram("p", (), 1), site(program, arguments=("--mpi=pmi2",))).arguments
    assert [word for word in words if word.startswith("--mpi")] == ["--mpi=pmi2"]
    assert "--overlap" not in words


@pytest.mark.parametrize(
    ("variables", "slots"),
    [
        ({"SLURM_NTASKS": "5", "SLURM_TASKS_PER_NODE": "2(x2),1"}, {"n1": 2, "n2": 2, "n3": 1}),
        ({"SLURM_JOB_CPUS_PER_NODE": "8,16(x2)"}, {"n1": 4, "n2": 8, "n3": 8}),
        ({}, {"n1": None, "n2": None, "n3": None}),
    ],
)
def test_a_job_says_how_many_ranks_its_hosts_take(
    variables: dict[str, str], slots: dict[str, int | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, monkeypatch, scontrol="NodeName=n1 ThreadsPerCore=2")
    job = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-3]", "SLURM_JOB_END_TIME": "1800000000"}
    granted = SCHEDULER.allocation({**job, **variables})
    assert granted is not None
    assert granted.slots == slots
    assert (granted.job, granted.end_unix_s) == ("7", 1.8e9)
    assert SCHEDULER.allocation(variables) is None


def test_a_job_whose_container_has_no_slurm_knows_its_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    granted = SCHEDULER.allocation(
        {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_CPUS_PER_NODE": "2(x2)"}
    )
    assert granted is not None
    assert (granted.slots, granted.end_unix_s) == ({"n1": 2, "n2": 2}, None)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("node7", ["node7"]),
        ("a,b-c.d", ["a", "b-c.d"]),
        ("n[1-3,7]", ["n1", "n2", "n3", "n7"]),
        ("n[08-10],m", ["n08", "n09", "n10", "m"]),
        ("r[1-2]n[0,3]x", ["r1n0x", "r1n3x", "r2n0x", "r2n3x"]),
    ],
)
def test_abbreviated_hosts(text: str, hosts: list[str]) -> None:
    assert hostnames(text) == hosts


@pytest.fixture
def _utc() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_utc")
def test_the_end_of_a_job_is_asked_where_it_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n1", "SLURM_NTASKS": "1"}
    play(tmp_path, monkeypatch, scontrol="JobId=7 TimeLimit=00:10:00 EndTime=2027-01-15T08:00:00 Partition=all")
    granted = SCHEDULER.allocation(job)
    assert granted is not None
    assert granted.end_unix_s == 1.8e9
    play(tmp_path, monkeypatch, scontrol="JobId=7 TimeLimit=UNLIMITED EndTime=Unknown Partition=all")
    granted = SCHEDULER.allocation(job)
    assert granted is not None
    assert granted.end_unix_s is None


def test_a_job_is_seen_waiting_running_and_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def state(text: str) -> JobState:
        play(tmp_path, monkeypatch, scontrol=text)
        return SCHEDULER.state_of("7")

    waits = state("JobId=7 JobState=PENDING Reason=Resources Dependency=(null) ExitCode=0:0")
    assert (waits.pending, waits.ended, waits.stuck) == (True, False, False)
    assert state("JobState=PENDING Reason=ReqNodeNotAvail,_UnavailableNodes:n1 ExitCode=0:0").stuck
    runs = state("JobState=RUNNING Reason=None ExitCode=0:0")
    assert (runs.pending, runs.ended, runs.stuck) == (False, False, False)
    ended = state("JobState=FAILED Reason=NonZeroExitCode ExitCode=124:0")
    assert (ended.ended, ended.exit_code) == (True, 124)
    assert state("!slurm_load_jobs error: Invalid job id specified") == job_state("GONE")
    with pytest.raises(ScopeError, match="Unable to contact slurm controller"):
        state("!slurm_load_jobs error: Unable to contact slurm controller (connect failure)")


def test_a_refusal_names_the_key_it_speaks_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request("x", tmp_path, tmp_path / "o", nodes=99)
    play(
        tmp_path,
        monkeypatch,
        sbatch="!sbatch: error: Batch job submission failed: Node count specification invalid",
    )
    with pytest.raises(UsageError, match=r"^launcher\.nodes = 99: sbatch: Node count specification invalid$"):
        SCHEDULER.submit(tmp_path / "script", request)
    play(
        tmp_path,
        monkeypatch,
        sbatch="!sbatch: error: Batch job submission failed: MpiProgram violates accounting policy",
    )
    with pytest.raises(UsageError, match=r"^sbatch: MpiProgram violates accounting policy$"):
        SCHEDULER.submit(tmp_path / "script", request)


def test_srun_names_who_died() -> None:
    death = diagnose(
        "srun: error: node2: task 3: Terminated\n"
        "srun: error: node1: task 1: Segmentation fault (core dumped)\n"
        "srun: Terminating StepId=7.0\n"
    )
    assert (death.ranks, death.host, death.signal) == ((1,), "node1", signal.SIGSEGV)
    death = diagnose("srun: error: node1: tasks 0-1: Exited with exit code 16\n")
    assert (death.ranks, death.signal) == ((0,), None)
    assert death.text == "rank 0 on node1: Exited with exit code 16"
