"""A small cluster with a real Slurm: a login host and three nodes of a lab.

Everything (hosts, munged, slurmctld, a slurmd per node, jobs) lives in the lab; when that ends, the kernel ends
all of it. Nothing of the system's own Slurm or munge is read or written. Only root may make it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hpcscope.lab import emulation
from hpcscope.lab.description import Lab
from hpcscope.lab.entry import Emulation
from tests.cli.scope_command import SCOPE, Answer
from tests.patience import PATIENCE_S, until

LOGIN = "login1"
NODES = ("node1", "node2", "node3")
CPUS = 2
PROGRAMS = (*emulation.NEEDED, "munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol")

CONFIGURATION = """\
ClusterName=scope
SlurmctldHost={login}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
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
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
KillWait=8
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP
PartitionName=closed Nodes={first} MaxTime=60 State=UP AllowAccounts=physics
PartitionName=short Nodes=ALL MaxTime=60 State=UP
PartitionName=urgent Nodes=ALL MaxTime=60 State=UP PriorityTier=9
PartitionName=down Nodes={first} MaxTime=60 State=DOWN
"""

LAB = {
    "title": "Three nodes and the host from which their jobs are submitted",
    "group": [
        {"name": "node", "hosts": len(NODES), "ranks_per_host": CPUS, "rate_mbit_per_s": 1000},
        {"name": "login", "hosts": 1, "rate_mbit_per_s": 1000, "switch": "node"},
    ],
}


@dataclass(frozen=True)
class SlurmCluster:
    """A running cluster, and the folder of its files."""

    lab: Emulation
    folder: Path

    def command(self, folder: Path, *words: str, host: str = LOGIN) -> list[str]:
        """Return what runs a command in a folder as on a host; which hosts there are, only Slurm tells it."""
        # The nodes share the cores of this machine: ranks that wait must let others go on.
        variables = [f"SLURM_CONF={self.folder}/slurm.conf", "OMPI_MCA_mpi_yield_when_idle=1"]
        return self.lab.command(["env", f"--chdir={folder}", *variables, *words], host)

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

    def daemon(self, host: str, *words: str) -> subprocess.Popen[bytes]:
        """Start one of Slurm's daemons on a host, in the foreground."""
        # slurmd wants something mounted where control groups are.
        script = 'mount -t tmpfs tmpfs /sys/fs/cgroup && exec "$@" -D'
        with (self.folder / f"{host}.out").open("w") as output:
            return subprocess.Popen(
                self.command(self.folder, "sh", "-c", script, "sh", *words, host=host),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

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
        until(lambda: not self.queue(), "the queue is empty")


# A job that was requeued begins only when the credentials of its first start have expired (cred_expire).


def missing() -> str:
    """Say what this machine lacks for a Slurm of its own; empty when nothing."""
    if os.geteuid() != 0:
        return "only root can make a cluster of namespaces"
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"{', '.join(absent)} not installed" if absent else ""


@contextmanager
def running(folder: Path) -> Iterator[SlurmCluster]:
    """Yield a cluster whose nodes are all idle; it ends with the block."""
    _write(folder)
    with emulation.temporary("slurm", Lab.model_validate(LAB)) as lab:
        cluster = SlurmCluster(lab, folder)
        files = [f"--{name}={folder}/munge.{name.split('-')[0]}" for name in ("socket", "key-file", "pid-file")]
        files += [f"--{name}={folder}/munge.{name.split('-')[0]}" for name in ("log-file", "seed-file")]
        cluster.slurm("munged", "--force", *files)
        daemons = [cluster.daemon(LOGIN, "slurmctld", "-c")]
        daemons += [cluster.daemon(node, "slurmd", "-c", "-N", node) for node in NODES]
        try:
            try:
                until(lambda: _idle(cluster) == len(NODES), "all nodes are idle")
            except TimeoutError as error:
                said = "\n".join(path.read_text()[-500:] for path in folder.glob("*.out"))
                raise AssertionError(f"the cluster did not come up: {said}") from error
            yield cluster
        finally:
            for daemon in daemons:
                daemon.kill()
                daemon.wait()


def _write(folder: Path) -> None:
    nodes = [f"NodeName={node} CPUs={CPUS} State=UNKNOWN" for node in NODES]
    text = CONFIGURATION.format(nodes="\n".join(nodes), folder=folder, login=LOGIN, first=NODES[0])
    (folder / "slurm.conf").write_text(text)
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    for name in ("state", *(f"{kind}.{node}" for kind in ("spool", "tmp") for node in NODES)):
        (folder / name).mkdir()
    (folder / "munge.key").touch(mode=0o600)
    (folder / "munge.key").write_bytes(secrets.token_bytes(128))
    folder.chmod(0o755)


def _idle(cluster: SlurmCluster) -> int:
    answer = cluster.run(Path("/"), "sinfo", "--noheader", "--Node", "--partition=all", "--format=%T")
    return answer.output.split().count("idle")
