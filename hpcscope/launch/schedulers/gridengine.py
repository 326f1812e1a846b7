"""Grid Engine: the hosts that a job was granted, the directives of a job script, and the queue."""

import os
import pwd
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch.scheduler import Allocation, JobState, Queue, Request, counted, end_of_job
from hpcscope.rundirectory import read_text

OWN = re.compile(r"""[,:$#"']""")
"""Characters that Grid Engine does not take literally in an output path, which is a list of HOST:PATH with
variables: quotes cannot be escaped, and # begins a comment even inside quotes."""


class GridEngine(Queue):
    """See qsub(1), qstat(1), sge_pe(5), complex(5), accounting(5)."""

    name = "gridengine"
    title = "Grid Engine"
    submits = "qsub"
    own_command = "qconf"
    cancels = "qdel"
    options = ("-terse", "-w", "e")
    """`-w e` also rejects jobs that could not start even in an empty cluster."""
    array = re.compile(r"-t\b")
    keys = (
        (r"\bproject\b", "account"),
        (r"unknown queue", "partition"),
        (r"parallel environment", "parallel_environment"),
        (r"unknown resource \"exclusive\"", "exclusive"),
        (r"resolve hostname", "nodelist"),
    )
    accounts_within_s = 20.0
    """Longer than the 15 s after which the queue master writes its accounting by default."""

    def allocation(self, environment: Mapping[str, str]) -> Allocation | None:
        """Read the host file (lines: `HOST SLOTS QUEUE PROCESSORS`); a job without one has one slot, here."""
        if "SGE_JOB_SPOOL_DIR" not in environment or "JOB_ID" not in environment:
            return None
        hosts = [environment["HOSTNAME"]] if "HOSTNAME" in environment else []
        if hostfile := environment.get("PE_HOSTFILE"):
            lines = [line.split() for line in read_text(Path(hostfile)).splitlines()]
            hosts = [
                line[0] for line in lines if len(line) >= 2 and line[1].isdigit() for _ in range(int(line[1]))
            ]
        return Allocation(self.name, self.title, environment["JOB_ID"], counted(hosts), end_of_job(environment))

    def directives(self, request: Request) -> list[str]:
        """Return the lines that begin with `#$`; without -S a queue may give the script to csh."""
        if (own := OWN.search(str(request.output))) is not None:
            raise UsageError(f"{request.output}: must not contain {own[0]}, which Grid Engine would interpret")
        slots = request.nodes * (request.ranks_per_node or 1)
        if slots > 1 and not request.parallel_environment:
            raise UsageError(
                "launcher.parallel_environment (--parallel-environment): must be given for a job of several "
                "slots; `qconf -spl` lists the environments of Grid Engine"
            )
        asked = [
            "-S /bin/bash",
            f"-N {request.name}",
            f"-o {shlex.quote(str(request.output))}",
            "-j y",
            *([f"-q {request.partition}"] if request.partition else []),
            *([f"-P {request.account}"] if request.account else []),
            *([f"-pe {request.parallel_environment} {slots}"] if request.parallel_environment else []),
            *([f"-l hostname={'|'.join(request.nodelist)}"] if request.nodelist else []),
            *(["-l exclusive=true"] if request.exclusive else []),
            *([f"-l h_rt={int(request.time_limit_s)}"] if request.time_limit_s else []),
            "-r y",
            "-V",
            *request.arguments,
        ]
        return [f"#$ {line}" for line in asked]

    def submit(self, script: Path, request: Request) -> str:
        """Submit a job; raises UsageError also if its parallel environment does not fit."""
        self._check_rule(request)
        return super().submit(script, request)

    def state_of(self, job: str) -> JobState:
        """Return the state of a job of this user; raises ScopeError while the queue master does not respond."""
        answer = self.ask("qstat", "-u", pwd.getpwuid(os.getuid()).pw_name)
        if answer.returncode != 0:
            raise ScopeError(f"qstat: {self.reason(answer.stderr)}")
        fields = next((line.split() for line in answer.stdout.splitlines() if line.split()[:1] == [job]), [])
        if len(fields) < 5:
            return JobState("GONE", exit_code=self._exit_code(job), ended=True)
        letters = fields[4]
        pending = "w" in letters or "q" in letters
        fault = "E" in letters
        reason = self._fault(job) if fault else "held" if pending and "h" in letters else ""
        return JobState(letters, reason, pending=pending, stuck=pending and reason != "")

    def reason(self, printed: str) -> str:
        """Return the first line, without the words that precede the reason."""
        lines = [line.strip() for line in printed.splitlines() if line.strip() and line.strip() != "Exiting."]
        text = re.sub(r"^Unable to run job: ", "", lines[0] if lines else "no message")
        return re.sub(r"^((job rejected|denied|error): |Job was rejected because )", "", text).rstrip(".")

    def _check_rule(self, request: Request) -> None:
        """Raise UsageError if the parallel environment would put other numbers of ranks on the hosts."""
        name, each = request.parallel_environment, request.ranks_per_node or 1
        if name is None:
            return
        shown = self.ask("qconf", "-sp", name)
        rule = re.search(r"^allocation_rule\s+(\S+)", shown.stdout, re.MULTILINE)
        # qsub rejects an unknown environment and gives the reason.
        if rule is not None and rule[1] != str(each) and not (rule[1] == "$pe_slots" and request.nodes == 1):
            raise UsageError(
                f"launcher.parallel_environment = {name}: its allocation rule is {rule[1]}; must be {each},"
                " the ranks per host (--ranks-per-host)" + (", or $pe_slots" if request.nodes == 1 else "")
            )

    def _exit_code(self, job: str) -> int | None:
        """Return the exit code from the accounting, in which a job's last record is for its last start."""
        codes = re.findall(r"^exit_status\s+(\d+)", self.ask("qacct", "-j", job).stdout, re.MULTILINE)
        return int(codes[-1]) if codes else None

    def _fault(self, job: str) -> str:
        shown = self.ask("qstat", "-j", job).stdout
        why = re.search(r"^error reason\s+\d+:\s+(?:[\d/]+ [\d:]+ \[[\d:]+\]: )?(.*)", shown, re.MULTILINE)
        return why[1].removeprefix("error: ") if why else "error"


SCHEDULER = GridEngine()
