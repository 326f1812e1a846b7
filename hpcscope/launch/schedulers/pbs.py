"""PBS: the hosts that a job was granted, the directives of a job script, and the queue."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from hpcscope.errors import ScopeError
from hpcscope.launch.scheduler import Allocation, JobState, Queue, Request, clock, counted, end_of_job
from hpcscope.rundirectory import read_text

STUCK = re.compile(r"Can Never Run|Queue not started")
"""The scheduler's comments on a job that stays in its queue until somebody changes the cluster or the job."""


class Pbs(Queue):
    """See qsub(1B), pbs_resources(7B), qstat(1B)."""

    name = "pbs"
    title = "PBS"
    submits = "qsub"
    own_command = "pbsnodes"
    cancels = "qdel"
    array = re.compile(r"-J")
    keys = ((r"unknown queue|queue is not enabled", "partition"),)

    def allocation(self, environment: Mapping[str, str]) -> Allocation | None:
        """Read the node file: one line per process, in the order of the chunks."""
        if "PBS_NODEFILE" not in environment:
            return None
        hosts = read_text(Path(environment["PBS_NODEFILE"])).split()
        return Allocation(
            self.name, self.title, environment.get("PBS_JOBID", "?"), counted(hosts), end_of_job(environment)
        )

    def directives(self, request: Request) -> list[str]:
        """Return the #PBS lines; without ompthreads, every rank would get a thread for each CPU of its chunk."""
        ranks = request.ranks_per_node
        each = f":ncpus={ranks}:mpiprocs={ranks}:ompthreads=1" if ranks else ":ncpus=1"
        chunks = [f"1{each}:host={host}" for host in request.nodelist] or [f"{request.nodes}{each}"]
        asked = [
            f"-N {request.name}",
            f"-o {shlex.quote(str(request.output))}",
            "-j oe",
            *([f"-q {request.partition}"] if request.partition else []),
            *([f"-A {request.account}"] if request.account else []),
            f"-l select={'+'.join(chunks)}",
            f"-l place=scatter{':excl' if request.exclusive else ''}",
            *([f"-l walltime={clock(request.time_limit_s)}"] if request.time_limit_s else []),
            "-V",
            *request.arguments,
        ]
        return [f"#PBS {line}" for line in asked]

    def state_of(self, job: str) -> JobState:
        """Return the state of a job; raises ScopeError while the server does not respond.

        An ended job is known only if the server keeps a history of jobs.
        """
        answer = self.ask("qstat", "-f", job)
        if "Job has finished" in answer.stderr:
            answer = self.ask("qstat", "-x", "-f", job)
        facts = dict(re.findall(r"^    (\w+) = (.*)", answer.stdout.replace("\n\t", ""), re.MULTILINE))
        if "job_state" not in facts:
            if "Unknown Job Id" in answer.stderr:
                return JobState("GONE", ended=True)
            raise ScopeError(f"qstat: {self.reason(answer.stderr)}")
        letter, substate, comment = (facts.get(name, "") for name in ("job_state", "substate", "comment"))
        if letter in "QHWT":
            # Substate 22 of job.h: held only until another job has ended.
            held = letter == "H" and substate != "22"
            why = re.sub(r"^(Not Running|Can Never Run): |\.$", "", comment) or ("held" if held else "")
            return JobState(letter, why, pending=True, stuck=held or STUCK.search(comment) is not None)
        code = int(facts["Exit_status"]) if letter == "F" and "Exit_status" in facts else None
        # Substate 91 of job.h: deleted. Exit status -29: its walltime was exceeded.
        ended = "CANCELLED" if substate == "91" else "TIMEOUT" if code == -29 else "FINISHED"
        return JobState(ended if letter == "F" else letter, exit_code=code, ended=letter == "F")

    def reason(self, printed: str) -> str:
        """Return the command's own message; its library may print something before it, and its usage follows."""
        own = re.search(r"^q\w+: +(.+)", printed, re.MULTILINE)
        return own[1].strip() if own else "no message"


SCHEDULER = Pbs()
