"""Real ranks over the provider of libfabric, inside one host and between two."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest

from hpcscope.build.active_messages import provider_for
from hpcscope.errors import UsageError
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import MpiProgram
from hpcscope.launch.site import site_of, start_command
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from hpcscope.settings.experiment import LauncherSettings
from hpcscope.settings.hosts import HostSlots
from tests.cli.scope_command import samples
from tests.launch.conftest import SAME_CALLS, SAME_LAUNCHERS, Trial
from tests.launch.test_namespaces import FIRST, SECOND, Cluster, cluster
from tests.messages import mentions
from tests.patience import PATIENCE_S

__all__ = ["cluster"]

CASES = (
    "mpi.latency message_bytes=0,1000,100000 mode=standard,synchronous",
    "mpi.bandwidth message_bytes=3000,1Mi",
    "mpi.datatypes",
    "mpi.one_sided operation=put,get,accumulate",
    "mpi.alltoallv ranks=2",
    "mpi.threads placement=threads",
)


def over_active_messages(*cases: str) -> list[str]:
    return [f"{case} transport=active-messages" for case in cases]


def has_libfabric(mpi: MpiInstallation) -> bool:
    said = subprocess.run([mpi.launcher, "-info"], capture_output=True, text=True, timeout=PATIENCE_S).stdout
    return "ch4:ucx'" not in said


def test_an_mpi_without_libfabric_is_refused(
    embedded: MpiInstallation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As MPICH over UCX says of itself."""
    launcher = tmp_path / "mpiexec"
    launcher.write_text("#!/bin/sh\necho \"    Configure options: '--with-device=ch4:ucx'\"\n")
    launcher.chmod(0o755)
    ucx = embedded.model_copy(update={"name": "mpich", "version": "4.0.2", "launcher": str(launcher)})
    with pytest.raises(UsageError, match=r"libfabric.*mpich 4\.0\.2 .*ch4:ucx"):
        provider_for(ucx)


@SAME_LAUNCHERS
def test_every_mpi_with_libfabric_runs_unchanged_and_its_data_are_right(any_trial: Trial) -> None:
    plan = any_trial.plan(*over_active_messages(*CASES))
    if not has_libfabric(any_trial.build.mpi):
        with pytest.raises(UsageError, match="libfabric"):
            any_trial.supervise(plan)
        return
    assert any_trial.supervise(plan)
    records = any_trial.records()
    assert len(records) == sum(len(launch.cases) for launch in plan.launches)
    for record in records:
        assert record["status"] == "ok", record["reason"]
        assert record["verification"]["passed"]


def test_the_provider_is_what_the_messages_take(
    embedded_build: NativeBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FI_SCOPE_WIRE", "bluetooth")
    job = MpiProgram(embedded_build.program, ("--action=test", "--plan=/dev/null"), 2, "active-messages")
    command = start_command(job, site_of(embedded_build.mpi, LauncherSettings(), "the test"))
    with launch_environment(command.environment) as variables:
        ended = subprocess.run(
            command.arguments, env=variables, capture_output=True, text=True, timeout=PATIENCE_S
        )
    assert ended.returncode != 0
    assert mentions(ended.stderr, "FI_SCOPE_WIRE=bluetooth: ... automatic, xdp, packet, none")


def compiled(mpi: MpiInstallation, source: str, folder: Path) -> str:
    """Compile a program of this folder."""
    program = folder / source.removesuffix(".c")
    command = [mpi.compiler, str(Path(__file__).parent / source), "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
    return str(program)


def run_over(mpi: MpiInstallation, job: MpiProgram, cluster: Cluster | None) -> subprocess.CompletedProcess[str]:
    """Run a program on this host, or on the two of a cluster."""
    asked = LauncherSettings()
    if cluster:
        agent = str(cluster.folder / "agent")
        asked = LauncherSettings(
            hosts=(HostSlots(FIRST), HostSlots(SECOND)), interface="eth0", remote_shell=agent, binding="none"
        )
    command = start_command(job, site_of(mpi, asked, "the test"))
    inside = [str(cluster.folder / "enter"), FIRST] if cluster else []
    with launch_environment(command.environment) as variables:
        return subprocess.run(
            [*inside, *command.arguments], env=variables, capture_output=True, text=True, timeout=PATIENCE_S
        )


@pytest.fixture(scope="module")
def dying_rank(embedded_build: NativeBuild, tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(embedded_build.mpi, "dying_rank.c", tmp_path_factory.mktemp("dying"))


@pytest.mark.parametrize("waiting", ["any", "reduce"])
def test_a_killed_rank_fails_what_waits_for_it(embedded_build: NativeBuild, dying_rank: str, waiting: str) -> None:
    # The shell hides the death from mpiexec, which would end the other ranks by itself.
    hiding = f"{dying_rank} {int(signal.SIGKILL)} {waiting}; code=$?; test $code != 137 || sleep 60; exit $code"
    job = MpiProgram("/bin/sh", ("-c", hiding), 3, "active-messages", oversubscribed=True)
    ended = run_over(embedded_build.mpi, job, None)
    assert ended.returncode != 0
    assert re.search(r"port \d+ process \d+", ended.stderr), "the peer that has ended"


BUSY = pytest.mark.slow(
    "a progress thread must get a processor within the second in which its silence would be death; `absence` and"
    " the pauses of active-messages/tests/protocol.cpp prove by their own clock that who is busy is not dead"
)


@pytest.mark.parametrize(
    ("fate", "waiting"),
    [(signal.SIGSTOP, "send"), (signal.SIGSTOP, "any"), pytest.param(0, "receive", marks=BUSY)],
)
def test_a_silent_host_fails_what_waits_for_it_and_a_busy_one_does_not(
    cluster: Cluster,
    embedded_build: NativeBuild,
    dying_rank: str,
    monkeypatch: pytest.MonkeyPatch,
    fate: int,
    waiting: str,
) -> None:
    monkeypatch.setenv("FI_SCOPE_PEER_TIMEOUT_S", "1")
    job = MpiProgram(dying_rank, (str(int(fate)), waiting), 2, "active-messages")
    ended = run_over(embedded_build.mpi, job, cluster)
    assert (ended.returncode != 0) == (fate != 0), ended.stderr
    said = " gave no sign of life for 1 s"
    assert (said in ended.stderr) == (fate != 0)


@SAME_CALLS
def test_ranks_of_one_host_change_memory_atomically(any_trial: Trial, tmp_path: Path) -> None:
    mpi = any_trial.build.mpi
    if not has_libfabric(mpi):
        return  # refused, as the first test says
    job = MpiProgram(compiled(mpi, "shared_counters.c", tmp_path), (), 3, "active-messages", oversubscribed=True)
    ended = run_over(mpi, job, None)
    assert "wrong 0\n" in ended.stdout, ended.stderr


def test_ranks_of_two_hosts_change_memory_atomically(
    cluster: Cluster, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    mpi = embedded_build.mpi
    job = MpiProgram(compiled(mpi, "shared_counters.c", tmp_path), (), 2, "active-messages")
    ended = run_over(mpi, job, cluster)
    assert "wrong 0\n" in ended.stdout, ended.stderr


@SAME_CALLS
@pytest.mark.parametrize("hosts", [1, 2])
def test_a_busy_receiver_does_not_hold_up_the_sender(
    cluster: Cluster, any_trial: Trial, tmp_path: Path, hosts: int
) -> None:
    mpi = any_trial.build.mpi
    if not has_libfabric(mpi):
        return  # refused, as the first test says
    program, all_started = compiled(mpi, "busy_receiver.c", tmp_path), str(tmp_path / "all-started")
    job = MpiProgram(program, (all_started,), 2, "active-messages", oversubscribed=True)
    ended = run_over(mpi, job, cluster if hosts == 2 else None)
    assert ended.stdout.splitlines() == ["told 1 wrong 0"], ended.stderr


def test_messages_cross_the_cable_and_not_the_memory(
    cluster: Cluster, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    before = cluster.received_bytes(SECOND)
    answer = cluster.run(
        tmp_path,
        embedded_build.mpi,
        *("--hosts", f"{FIRST}:2,{SECOND}:2", "--interface", "eth0", "--ranks-per-host", "2"),
        *("--case", "mpi.latency ranks=2 placement=node transport=active-messages message_bytes=1,9000,100000"),
        *(
            "--case",
            "mpi.one_sided ranks=2 placement=node transport=active-messages operation=accumulate message_bytes=8",
        ),
        *("--case", "mpi.bandwidth ranks=2 placement=node transport=active-messages message_bytes=9000"),
        *("--case", "mpi.alltoallv ranks=4 transport=active-messages"),
    )
    assert answer.code == 0, answer.errors
    cases = [line for line in samples(tmp_path / "run") if line["record"] == "case"]
    assert [case["status"] for case in cases] == ["ok"] * 6
    to_the_second = sum(
        len(series["elapsed_s"][0]) * series["operations"] * case["parameters"]["message_bytes"]
        for case in cases
        if case["benchmark"] == "mpi.latency"
        for series in case["series"]
    )
    assert cluster.received_bytes(SECOND) - before > to_the_second > 0
