"""A small cluster with a real Slurm: a login host and three nodes in namespaces of one machine.

Everything (hosts, munged, slurmctld, a slurmd per node, jobs) lives in the process namespace of one holder; when
that ends, the kernel ends all of it. Nothing of the system's own Slurm or munge is read or written. Only root may
make it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.cli.scope_command import PATIENCE_S, SCOPE, Answer

T = TypeVar("T")

LOGIN = "login"
NODES = ("node1", "node2", "node3")
NETWORK = "10.79.232"
CPUS = 2
PROGRAMS = ("ip", "nsenter", "unshare", "munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol")

CONFIGURATION = """\
ClusterName=scope
SlurmctldHost={login}({network}.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CORE
SwitchType=switch/none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1,batch_sched_delay=0
EnforcePartLimits=ALL
ReturnToService=2
KillWait=8
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP
PartitionName=closed Nodes={first} MaxTime=60 State=UP AllowAccounts=physics
PartitionName=down Nodes={first} MaxTime=60 State=DOWN
"""

HOLDER = """\
set -e
mount -t tmpfs tmpfs /sys/fs/cgroup # slurmd wants something mounted there
mount --bind {folder}/hosts /etc/hosts
hostname {login}
ip link set lo up
ip link add net type bridge
ip link set net up
ip address add {network}.254/24 dev net
number=0
for host in {nodes}; do
  number=$((number + 1))
  unshare --net --uts --mount --propagation private sh -c "
    hostname $host && mount -t tmpfs tmpfs /dev/shm && touch {folder}/$host.made && exec sleep infinity" &
  pid=$!
  until [ -e {folder}/$host.made ]; do sleep 0.02; done
  echo $pid >{folder}/$host.pid
  ip link add port$number type veth peer name eth0 netns $pid
  ip link set port$number master net up
  nsenter --target $pid --net ip link set lo up
  nsenter --target $pid --net ip address add {network}.$number/24 dev eth0
  nsenter --target $pid --net ip link set eth0 up
done
munged --force --socket={folder}/munge.socket --key-file={folder}/munge.key --pid-file={folder}/munge.pid \\
  --log-file={folder}/munge.log --seed-file={folder}/munge.seed
export SLURM_CONF={folder}/slurm.conf
slurmctld -c -D >{folder}/slurmctld.out 2>&1 &
for host in {nodes}; do
  nsenter --target $(cat {folder}/$host.pid) --net --uts --mount slurmd -c -N $host -D >{folder}/$host.out 2>&1 &
done
exec sleep infinity
"""

ENTER = """\
#!/bin/bash
# enter HOST FOLDER COMMAND...: run a command as on that host
host=$1 folder=$2; shift 2
inside="cd $folder && exec \\"\\$@\\""
export SLURM_CONF={folder}/slurm.conf
if [ $host = {login} ]; then
  exec nsenter --target {holder} --net --uts --mount --pid sh -c "$inside" sh "$@"
fi
exec nsenter --target {holder} --mount --pid nsenter --target $(cat {folder}/$host.pid) --net --uts --mount \\
  sh -c "$inside" sh "$@"
"""


@dataclass(frozen=True)
class SlurmCluster:
    """A running cluster, and the folder of its files."""

    folder: Path

    def command(self, folder: Path, *words: str, host: str = LOGIN) -> list[str]:
        """Return what runs a command in a folder as on a host."""
        return [str(self.folder / "enter"), host, str(folder), *words]

    def run(self, folder: Path, *words: str, host: str = LOGIN) -> Answer:
        """Run a command to its end."""
        done = subprocess.run(
            self.command(folder, *words, host=host),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def slurm(self, *words: str) -> str:
        """Return what one of Slurm's own commands says."""
        answer = self.run(Path("/"), *words)
        assert answer.code == 0, answer
        return answer.output

    def scope(self, folder: Path, *words: str) -> Answer:
        """Run scope on the login host, outside any job."""
        return self.run(folder, str(SCOPE), *words)

    def allocated(self, folder: Path, allocation: list[str], *words: str) -> Answer:
        """Run scope in an allocation, whose shell is on its first node."""
        return self.run(folder, "salloc", "--quiet", *allocation, str(SCOPE), *words)

    def queue(self) -> list[str]:
        """Return the jobs in the queue: number, name and state."""
        return self.slurm("squeue", "--noheader", "--format=%i %j %T").splitlines()

    def wait_until_empty(self) -> None:
        """Wait until no job is left, since the next test's would wait for its nodes."""
        deadline = time.monotonic() + 20
        while self.queue():
            assert time.monotonic() < deadline, self.queue()
            time.sleep(0.1)


def missing() -> str:
    """Say what this machine lacks for a Slurm of its own; empty when nothing."""
    if os.geteuid() != 0:
        return "only root can make a cluster of namespaces"
    absent = [
        program for program in PROGRAMS if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None
    ]
    return f"{', '.join(absent)} not installed" if absent else ""


@contextmanager
def running(folder: Path) -> Iterator[SlurmCluster]:
    """Yield a cluster whose nodes are all idle; it ends with the block."""
    _write(folder)
    holder = subprocess.Popen(
        [
            *("unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
            *("--propagation", "private", "bash", str(folder / "holder")),
        ],
        stdin=subprocess.DEVNULL,
        stdout=(folder / "holder.out").open("w"),
        stderr=subprocess.STDOUT,
    )
    try:
        inside = _wait(lambda: Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split(), folder)
        (folder / "enter").write_text(ENTER.format(folder=folder, login=LOGIN, holder=inside[0]))
        (folder / "enter").chmod(0o755)
        cluster = SlurmCluster(folder)
        _wait(lambda: _idle(cluster) == len(NODES), folder)
        yield cluster
    finally:
        holder.kill()
        holder.wait()


def _write(folder: Path) -> None:
    addresses = {node: f"{NETWORK}.{number}" for number, node in enumerate(NODES, 1)} | {LOGIN: f"{NETWORK}.254"}
    nodes = [f"NodeName={node} NodeAddr={addresses[node]} CPUs={CPUS} State=UNKNOWN" for node in NODES]
    facts = {"folder": folder, "login": LOGIN, "network": NETWORK, "first": NODES[0]}
    (folder / "slurm.conf").write_text(CONFIGURATION.format(nodes="\n".join(nodes), **facts))
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    names = "".join(f"{address} {name}\n" for name, address in addresses.items())
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
    (folder / "holder").write_text(HOLDER.format(nodes=" ".join(NODES), **facts))
    for name in ("state", *(f"{kind}.{node}" for kind in ("spool", "tmp") for node in NODES)):
        (folder / name).mkdir()
    (folder / "munge.key").touch(mode=0o600)
    (folder / "munge.key").write_bytes(secrets.token_bytes(128))
    folder.chmod(0o755)


def _idle(cluster: SlurmCluster) -> int:
    answer = cluster.run(Path("/"), "sinfo", "--noheader", "--Node", "--partition=all", "--format=%T")
    return answer.output.split().count("idle")


def _wait(ready: Callable[[], T], folder: Path) -> T:
    """Return the first true answer; the cluster's own words when there is none in time."""
    deadline = time.monotonic() + 30
    while not (answer := ready()):
        said = "\n".join(path.read_text()[-500:] for path in folder.glob("*.out"))
        assert time.monotonic() < deadline, f"the cluster did not come up: {said}"
        time.sleep(0.05)
    return answer
