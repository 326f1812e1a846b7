"""Slurm: what a job was granted, the head of a script, and its queue: submit, look, cancel, who is idle."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scope.errors import ScopeError, UsageError
from scope.launch.scheduler import Allocation, Request, clock, hostnames

PATIENCE_S = 60
WAITING = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
RUNNING = {"CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "SIGNALING", "STAGE_OUT", "STOPPED", "RESIZING"}
HOPELESS = re.compile(
    r"BadConstraints|ReqNodeNotAvail|Nodes_required_for_job_are_DOWN|Partition(Down|Inactive|NodeLimit|TimeLimit)"
    r"|AccountNotAllowed|Invalid(Account|QOS)|QOSNotAllowed|JobHeld|DependencyNeverSatisfied|launch_failed"
)
"""Reasons for which a waiting job would wait until somebody changes the cluster or the job."""
KEYS = (
    (r"partition", "partition"),
    (r"\baccount\b|association", "account"),
    (r"time limit", "time_limit_s"),
    (r"node name|node configuration|node count", "nodes"),
)
"""Which of our keys a refusal of sbatch speaks of."""


@dataclass(frozen=True)
class Sight:
    """How a job is seen in the queue."""

    state: str
    """As Slurm calls it; `GONE` when it does not know the job (any more)."""
    reason: str = ""
    exit_code: int | None = None
    """Of the script, once it has ended."""

    @property
    def waiting(self) -> bool:
        """Whether it has not begun."""
        return self.state in WAITING

    @property
    def over(self) -> bool:
        """Whether it has ended, however."""
        return self.state not in WAITING | RUNNING

    @property
    def hopeless(self) -> bool:
        """Whether it waits for what will not come by itself."""
        return self.waiting and HOPELESS.search(self.reason) is not None


@dataclass(frozen=True)
class Node:
    """A host as Slurm sees it."""

    name: str
    state: str
    """idle, allocated, mixed, drained, down, ...; a mark behind it (`*`: does not answer, `~`: off) is kept."""
    reason: str = ""
    """Why it is drained or down, in its administrator's words."""

    @property
    def idle(self) -> bool:
        """Whether a job could begin there now."""
        return self.state == "idle"


class Slurm:
    """See sbatch(1), scontrol(1), sinfo(1)."""

    name = "slurm"
    title = "Slurm"
    submits = "sbatch"
    tells_end = True

    def allocation(self, environment: Mapping[str, str]) -> Allocation | None:
        """Read the variables of a job; its end is asked of the controller where they do not tell it."""
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
        """Return lines of #SBATCH."""
        asked = [
            f"--job-name={request.name}",
            f"--output={shlex.quote(str(request.output))}",
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

    def refuse_absent(self) -> None:
        """Raise UsageError where Slurm's commands are not on PATH."""
        if shutil.which("sbatch") is None:
            raise UsageError("sbatch: no such program on PATH; Slurm's commands must be there")

    def submit(self, script: Path, request: Request) -> str:
        """Put a job into the queue and return its number; raises UsageError with the reason of a refusal."""
        answer = self._ask("sbatch", "--parsable", str(script))
        if answer.returncode != 0:
            raise UsageError(_refusal(answer.stderr, request))
        return answer.stdout.strip().partition(";")[0]

    def look(self, job: str) -> Sight:
        """Return how the job is seen; raises ScopeError while the controller does not answer."""
        answer = self._ask("scontrol", "--oneliner", "show", "job", job)
        if answer.returncode != 0:
            if "Invalid job id" in answer.stderr:
                return Sight("GONE")
            raise ScopeError(f"scontrol: {_first_line(answer.stderr)}")
        facts = dict(re.findall(r"\b(JobState|Reason|ExitCode)=(\S*)", answer.stdout))
        code = facts.get("ExitCode", "").partition(":")[0]
        return Sight(facts.get("JobState", "GONE"), facts.get("Reason", ""), int(code) if code.isdigit() else None)

    def cancel(self, job: str) -> None:
        """Ask for the end of this job; one that has ended meanwhile is none of our business."""
        self._ask("scancel", job)

    def nodes(self, partition: str | None, wanted: tuple[str, ...] = ()) -> list[Node]:
        """Return the hosts of a partition (default: the default one), or those named, with their states now."""
        where = [f"--partition={partition}"] if partition else []
        named = [f"--nodes={','.join(wanted)}"] if wanted else []
        answer = self._ask("sinfo", "--noheader", "--Node", *where, *named, "--format=%N|%T|%P|%E")
        if answer.returncode != 0:
            raise ScopeError(f"sinfo: {_first_line(answer.stderr)}")
        rows = [line.split("|", 3) for line in answer.stdout.splitlines() if line.count("|") >= 3]
        default = [row for row in rows if partition or wanted or row[2].endswith("*")]
        found = (Node(name, state, "" if why == "none" else why) for name, state, _, why in default)
        return list({node.name: node for node in found}.values())

    def _threads_per_core(self, nodes: str) -> int:
        said = self._shown("node", nodes)
        return max(map(int, re.findall(r"\bThreadsPerCore=(\d+)", said)), default=1)

    def _end_unix_s(self, job: str) -> float | None:
        told = re.search(r"\bEndTime=(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)", self._shown("job", job))
        return time.mktime(time.strptime(told[1], "%Y-%m-%dT%H:%M:%S")) if told else None

    def _shown(self, kind: str, name: str) -> str:
        """Return what scontrol shows; nothing inside a container, for example, that has no Slurm in it."""
        try:
            return self._ask("scontrol", "--oneliner", "show", kind, name).stdout
        except ScopeError:
            return ""

    def _ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        if shutil.which(words[0]) is None:
            raise UsageError(f"{words[0]}: no such program on PATH; Slurm's commands must be there")
        try:
            return subprocess.run(
                words,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                stdin=subprocess.DEVNULL,
                # A person's Ctrl-C is for Scope; half a submission would leave a job that nobody knows.
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise ScopeError(f"{words[0]}: no answer within {PATIENCE_S} s") from error


def _repeated(text: str) -> list[int]:
    """Read Slurm's abbreviation of a list of numbers: 2(x3),1."""
    pairs = re.findall(r"(\d+)(?:\(x(\d+)\))?", text)
    return [int(number) for number, times in pairs for _ in range(int(times or 1))]


def _refusal(said: str, request: Request) -> str:
    """Return one line with Slurm's reason and the key of ours that it speaks of."""
    reason = _first_line(said).removeprefix("Batch job submission failed: ")
    key = next((key for pattern, key in KEYS if re.search(pattern, reason, re.IGNORECASE)), None)
    if key == "nodes" and request.nodelist:
        return f"launcher.nodelist = {','.join(request.nodelist)}: sbatch: {reason}"
    value = getattr(request, key) if key else None
    return f"launcher.{key} = {_plain(value)}: sbatch: {reason}" if value is not None else f"sbatch: {reason}"


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _first_line(said: str) -> str:
    lines = [re.sub(r"^\w+: (error: |fatal: )?", "", line).strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if "submission failed" in line), lines[0] if lines else "it said nothing")


SCHEDULER = Slurm()
