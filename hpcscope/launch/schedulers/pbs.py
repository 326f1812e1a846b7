"""PBS: the directives of a job script, and the hosts that a job was granted. Scope does not submit to it."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from hpcscope.launch.scheduler import Allocation, Request, clock, counted, end_of_job
from hpcscope.rundirectory import read_text


class Pbs:
    """See qsub(1B) and pbs_resources(7B)."""

    name = "pbs"
    title = "PBS"
    submits = "qsub"
    tells_end = False

    def allocation(self, environment: Mapping[str, str]) -> Allocation | None:
        """Read the node file: one line per process, in the order of the chunks."""
        if "PBS_NODEFILE" not in environment:
            return None
        hosts = read_text(Path(environment["PBS_NODEFILE"])).split()
        return Allocation(
            self.name, self.title, environment.get("PBS_JOBID", "?"), counted(hosts), end_of_job(environment)
        )

    def directives(self, request: Request) -> list[str]:
        """Return the #PBS lines."""
        ranks = request.ranks_per_node
        each = f":ncpus={ranks}:mpiprocs={ranks}" if ranks else ":ncpus=1"
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


SCHEDULER = Pbs()
