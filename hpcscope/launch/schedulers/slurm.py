"""Slurm: what a job was granted, the directives of a job script, and the queue: submit, watch, cancel."""

import re
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass

from hpcscope.errors import ScopeError
from hpcscope.launch.scheduler import Allocation, JobState, Queue, Request, clock
from hpcscope.settings.hosts import hostnames

WAITING = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
RUNNING = {"CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "SIGNALING", "STAGE_OUT", "STOPPED", "RESIZING"}
STUCK = re.compile(
    r"BadConstraints|ReqNodeNotAvail|Nodes_required_for_job_are_DOWN|Partition(Down|Inactive|NodeLimit|TimeLimit)"
    r"|AccountNotAllowed|Invalid(Account|QOS)|QOSNotAllowed|JobHeld|DependencyNeverSatisfied|launch_failed"
)
"""Reasons for which a job stays pending until somebody changes the cluster or the job."""
FIRST_COMPONENT = "_HET_GROUP_0"
"""Suffix of the variables of the first component of a heterogeneous job."""


@dataclass(frozen=True)
class SlurmNode:
    """A host as Slurm sees it."""

    name: str
    state: str
    """idle, allocated, mixed, drained, down, ...; with Slurm's suffix (`*`: not responding, `~`: powered down)."""
    reason: str = ""
    """Why the host is drained or down, in its administrator's words."""

    @property
    def idle(self) -> bool:
        """Whether a job could start there now."""
        return self.state == "idle"


class Slurm(Queue):
    """See sbatch(1), scontrol(1), sinfo(1)."""

    name = "slurm"
    title = "Slurm"
    submits = "sbatch"
    options = ("--parsable",)
    cancels = "scancel"
    tells_end = True
    array = re.compile(r"--array\b|-a")
    keys = (
        (r"partition", "partition"),
        (r"\baccount\b|association", "account"),
        (r"time limit", "time_limit_s"),
        (r"node name|node count", "nodes"),
    )

    def allocation(self, environment: Mapping[str, str]) -> Allocation | None:
        """Read the variables of a job; if they lack its end, ask the controller for it.

        For a heterogeneous job, use its first component: ranks in several components need a command line for each.
        """
        first = {name.removesuffix(FIRST_COMPONENT): value for name, value in environment.items()}
        environment = {**first, **environment}
        job = environment.get("SLURM_JOB_ID")
        nodes = environment.get("SLURM_JOB_NODELIST")
        if job is None or nodes is None:
            return None
        hosts = hostnames(nodes)
        tasks = "SLURM_NTASKS" in environment or "SLURM_NTASKS_PER_NODE" in environment
        counts = environment.get("SLURM_TASKS_PER_NODE" if tasks else "SLURM_JOB_CPUS_PER_NODE", "")
        slots = dict(zip(hosts, _repeated(counts), strict=False)) if counts else {}
        if not tasks:
            threads = self._threads_per_core(nodes)
            slots = {host: max(1, count // threads) for host, count in slots.items()}
        end = environment.get("SLURM_JOB_END_TIME", "")
        end_unix_s = float(end) if end.isdigit() else self._end_unix_s(job)
        return Allocation(self.name, self.title, job, {host: slots.get(host) for host in hosts}, end_unix_s)

    def directives(self, request: Request) -> list[str]:
        """Return the #SBATCH lines."""
        asked = [
            f"--job-name={request.name}",
            f"--output={shlex.quote(str(request.output).replace('%', '%%'))}",
            "--open-mode=append",
            f"--nodes={request.nodes}",
            *([f"--nodelist={','.join(request.nodelist)}"] if request.nodelist else []),
            *([f"--ntasks-per-node={request.ranks_per_node}"] if request.ranks_per_node else []),
            *(["--exclusive"] if request.exclusive else []),
            *([f"--partition={request.partition}"] if request.partition else []),
            *([f"--account={request.account}"] if request.account else []),
            *([f"--time={clock(request.time_limit_s)}"] if request.time_limit_s else []),
            *([f"--nice={request.nice}"] if request.nice else []),
            *request.arguments,
        ]
        return [f"#SBATCH {line}" for line in asked]

    def state_of(self, job: str) -> JobState:
        """Return the state of a job; raises ScopeError while the controller does not respond."""
        answer = self.ask("scontrol", "--oneliner", "show", "job", job)
        if answer.returncode != 0:
            if "Invalid job id" in answer.stderr:
                return job_state("GONE")
            raise ScopeError(f"scontrol: {self.reason(answer.stderr)}")
        facts = dict(re.findall(r"\b(JobState|Reason|ExitCode)=(\S*)", answer.stdout))
        code = facts.get("ExitCode", "").partition(":")[0]
        return job_state(
            facts.get("JobState", "GONE"), facts.get("Reason", ""), int(code) if code.isdigit() else None
        )

    def reason(self, printed: str) -> str:
        """Return the line of a failed submission, else the first line, without the words before the reason."""
        lines = [
            re.sub(r"^\w+: (error: |fatal: )?", "", line).strip() for line in printed.splitlines() if line.strip()
        ]
        first = lines[0] if lines else "no message"
        failed = next((line for line in lines if "submission failed" in line), first)
        return failed.removeprefix("Batch job submission failed: ")

    def nodes(self, partition: str | None, wanted: tuple[str, ...] = ()) -> list[SlurmNode]:
        """Return the states of the hosts of a partition (None: the default one), or of the named hosts."""
        where = [f"--partition={partition}"] if partition else []
        named = [f"--nodes={','.join(wanted)}"] if wanted else []
        answer = self.ask("sinfo", "--noheader", "--Node", *where, *named, "--format=%N|%T|%P|%E")
        if answer.returncode != 0:
            raise ScopeError(f"sinfo: {self.reason(answer.stderr)}")
        rows = [line.split("|", 3) for line in answer.stdout.splitlines() if line.count("|") >= 3]
        default = [row for row in rows if partition or wanted or row[2].endswith("*")]
        found = (SlurmNode(name, state, "" if why == "none" else why) for name, state, _, why in default)
        return list({node.name: node for node in found}.values())

    def _threads_per_core(self, nodes: str) -> int:
        shown = self._shown("node", nodes)
        return max(map(int, re.findall(r"\bThreadsPerCore=(\d+)", shown)), default=1)

    def _end_unix_s(self, job: str) -> float | None:
        end = re.search(r"\bEndTime=(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)", self._shown("job", job))
        return time.mktime(time.strptime(end[1], "%Y-%m-%dT%H:%M:%S")) if end else None

    def _shown(self, kind: str, name: str) -> str:
        """Return what scontrol shows; nothing if Slurm is missing, for example in a container."""
        try:
            return self.ask("scontrol", "--oneliner", "show", kind, name).stdout
        except ScopeError:
            return ""


def job_state(state: str, reason: str = "", exit_code: int | None = None) -> JobState:
    """Return the state of a job by Slurm's words for it."""
    pending = state in WAITING
    stuck = pending and STUCK.search(reason) is not None
    return JobState(state, reason, exit_code, pending, stuck, ended=not pending and state not in RUNNING)


def _repeated(text: str) -> list[int]:
    """Read a list of numbers in Slurm's notation: 2(x3),1."""
    pairs = re.findall(r"(\d+)(?:\(x(\d+)\))?", text)
    return [int(number) for number, times in pairs for _ in range(int(times or 1))]


SCHEDULER = Slurm()
