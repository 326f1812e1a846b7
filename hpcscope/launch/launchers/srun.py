"""Slurm's srun inside a job: Slurm's own daemons start the ranks, without any mpiexec."""

import functools
import re
import subprocess
from collections.abc import Mapping

from hpcscope.commands import captured
from hpcscope.errors import UsageError
from hpcscope.launch.launcher import Command, MpiProgram, Site

TIMEOUT_S = 30
OVERLAP_SINCE = (20, 11)
"""The first release in which the steps of a job share processors only if each of them asks for it."""


class Srun:
    """Starts ranks with srun; see srun(1)."""

    kind = "slurm"
    mpis = ("openmpi", "mpich", "mvapich", "intelmpi")
    scheduler = "slurm"
    program = "srun"

    def command(self, program: MpiProgram, site: Site, environment: Mapping[str, str]) -> Command:
        """Return the command line. It lists the host of every rank, since srun would spread ranks evenly."""
        hosts = _host_of_each_rank(program, site)
        asked = [word for word in site.arguments if word.startswith("--mpi")]
        arguments = [
            *(site.mpiexec, f"--ntasks={program.ranks}", f"--nodes={len(set(hosts))}"),
            *("--distribution=arbitrary", f"--nodelist={','.join(hosts)}"),
            # A job submitted with --export=NONE would otherwise hide the variables set here from the ranks.
            *("--export=ALL", "--kill-on-bad-exit=1"),
            *sharing(site.mpiexec),
            *(["--overcommit"] if program.oversubscribed else []),
            f"--cpu-bind={ {'core': 'cores', 'socket': 'sockets', 'none': 'none'}[site.binding_of(program)] }",
            *([] if asked else [f"--mpi={_process_manager(site)}"]),
            *site.arguments,
            *(program.path, *program.arguments),
        ]
        return Command(arguments, {**environment, **site.family.environment(site.conditions(program))})


def sharing(srun: str) -> list[str]:
    """Return the options with which a step shares the job's processors with other steps."""
    return ["--overlap"] if _version(srun) >= OVERLAP_SINCE else []


def _host_of_each_rank(program: MpiProgram, site: Site) -> list[str]:
    """Return the host of rank 0, 1, ...: hosts are filled in order, or evenly when oversubscribed."""
    per_host = program.ranks_per_host or site.ranks_per_host
    places = [host.name for host in site.hosts for _ in range(per_host or host.slots or 1)]
    rounds = -(-program.ranks // len(places))
    order = [host.name for host in site.hosts]
    return sorted((places * rounds)[: program.ranks], key=order.index)


def _process_manager(site: Site) -> str:
    """Return the process management interface that this MPI needs; raises UsageError if srun lacks it."""
    wanted = site.family.process_manager
    offered = _offered(site.mpiexec)
    if wanted in offered:
        return wanted
    raise UsageError(
        f"{site.mpiexec}: offers {', '.join(offered) or 'no process manager'}, but {site.mpi.name} needs {wanted}:"
        " use --launcher mpiexec, or name a process manager with --launcher-argument=--mpi=NAME"
    )


@functools.cache
def _offered(srun: str) -> tuple[str, ...]:
    """Return what `srun --mpi=list` offers: one per line, which older releases prefix with `srun:`."""
    return tuple(re.findall(r"^(?:srun:)?\s+(\w+)\s*$", _output(srun, "--mpi=list"), re.MULTILINE))


@functools.cache
def _version(srun: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", _output(srun, "--version"))[:2])


def _output(srun: str, word: str) -> str:
    try:
        answer = captured([srun, word], TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{srun} {word}: {getattr(error, 'strerror', None) or 'no answer'}") from error
    return answer.stdout + answer.stderr


LAUNCHER = Srun()
