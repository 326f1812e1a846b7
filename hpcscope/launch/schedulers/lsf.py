"""LSF: the directives of a job script, and the hosts that a job was granted. Scope does not submit to it."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from hpcscope.errors import UsageError
from hpcscope.launch.scheduler import Allocation, Request, counted, end_of_job
from hpcscope.rundirectory import read_text


class Lsf:
    """See bsub(1)."""

    name = "lsf"
    title = "LSF"
    submits = "bsub <"
    tells_end = False

    def allocation(self, environment: Mapping[str, str]) -> Allocation | None:
        """Read the host file, one line per slot, else the pairs of LSB_MCPU_HOSTS: `a 2 b 2`."""
        if "LSB_JOBID" not in environment:
            return None
        if hostfile := environment.get("LSB_DJOB_HOSTFILE"):
            hosts = read_text(Path(hostfile)).split()
        else:
            words = environment.get("LSB_MCPU_HOSTS", "").split()
            pairs = zip(words[::2], words[1::2], strict=False)
            hosts = [name for name, number in pairs for _ in range(int(number))]
        return Allocation(self.name, self.title, environment["LSB_JOBID"], counted(hosts), end_of_job(environment))

    def directives(self, request: Request) -> list[str]:
        """Return the #BSUB lines."""
        if (made := re.search(r"%[IJ]", str(request.output))) is not None:
            raise UsageError(f"{request.output}: must not contain {made[0]}, which LSF replaces in file names")
        each = request.ranks_per_node or 1
        asked = [
            f"-J {request.name}",
            f"-o {shlex.quote(str(request.output))}",
            *([f"-q {request.partition}"] if request.partition else []),
            *([f"-P {request.account}"] if request.account else []),
            f"-n {request.nodes * each}",
            f'-R "span[ptile={each}]"',
            *([f'-m "{" ".join(request.nodelist)}"'] if request.nodelist else []),
            *(["-x"] if request.exclusive else []),
            *([f"-W {-(-int(request.time_limit_s) // 60)}"] if request.time_limit_s else []),
            *request.arguments,
        ]
        return [f"#BSUB {line}" for line in asked]


SCHEDULER = Lsf()
