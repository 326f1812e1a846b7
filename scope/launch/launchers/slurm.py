"""Slurm's srun inside a job: its own daemons start the ranks, and no MPI's mpiexec takes part."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Mapping

from scope.errors import UsageError
from scope.launch.launcher import Command, Job, Site
from scope.launch.launchers import mpich, openmpi

PATIENCE_S = 30
OVERLAP_SINCE = (20, 11)
"""The release in which steps stopped sharing processors of a job unless both say so."""


class Slurm:
    """Starts ranks with srun; see srun(1)."""

    kind = "slurm"
    mpis = ("openmpi", "mpich", "mvapich")
    scheduler = "slurm"
    program = "srun"

    def command(self, job: Job, site: Site, environment: Mapping[str, str]) -> Command:
        """Return the command line; it lists every rank's host, since srun itself spreads ranks evenly."""
        hosts = _host_of_each_rank(job, site)
        binding = "none" if job.oversubscribed or site.one_kernel else job.binding
        asked = [word for word in site.arguments if word.startswith("--mpi")]
        arguments = [
            *(site.mpiexec, f"--ntasks={job.ranks}", f"--nodes={len(set(hosts))}"),
            *("--distribution=arbitrary", f"--nodelist={','.join(hosts)}"),
            # Else a job submitted with --export=NONE would keep the variables set here from the ranks.
            *("--export=ALL", "--kill-on-bad-exit=1"),
            *(["--overlap"] if _version(site.mpiexec) >= OVERLAP_SINCE else []),
            *(["--overcommit"] if job.oversubscribed else []),
            f"--cpu-bind={ {'core': 'cores', 'socket': 'sockets', 'none': 'none'}[binding] }",
            *([] if asked else [f"--mpi={_interface(site)}"]),
            *site.arguments,
            *(job.program, *job.arguments),
        ]
        return Command(arguments, {**environment, **_settings(job, site)})


def _host_of_each_rank(job: Job, site: Site) -> list[str]:
    """Return the host of rank 0, 1, ...: hosts are filled in order, and all alike by a crowd."""
    per_host = job.ranks_per_host or site.ranks_per_host
    places = [host.name for host in site.hosts for _ in range(per_host or host.slots or 1)]
    rounds = -(-job.ranks // len(places))
    order = [host.name for host in site.hosts]
    return sorted((places * rounds)[: job.ranks], key=order.index)


def _settings(job: Job, site: Site) -> dict[str, str]:
    if site.mpi.name == "openmpi":
        return {f"OMPI_MCA_{name}": value for name, value in openmpi.settings(job, site).items()}
    return mpich.settings(job, site)


def _interface(site: Site) -> str:
    """Return the process management interface through which this MPI's ranks find each other."""
    wanted = "pmix" if site.mpi.name == "openmpi" else "pmi2"
    offered = _offered(site.mpiexec)
    if wanted in offered:
        return wanted
    raise UsageError(
        f"{site.mpiexec}: offers {', '.join(offered) or 'no interface'}, but {site.mpi.name} needs {wanted}:"
        f" use --launcher mpiexec, or name one with --launcher-argument=--mpi=NAME"
    )


@functools.cache
def _offered(srun: str) -> tuple[str, ...]:
    """Return what `srun --mpi=list` offers: a word per line, which older releases put behind `srun:`."""
    return tuple(re.findall(r"^(?:srun:)?\s+(\w+)\s*$", _said(srun, "--mpi=list"), re.MULTILINE))


@functools.cache
def _version(srun: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", _said(srun, "--version"))[:2])


def _said(srun: str, word: str) -> str:
    try:
        answer = subprocess.run(
            [srun, word], capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{srun} {word}: {getattr(error, 'strerror', None) or 'no answer'}") from error
    return answer.stdout + answer.stderr


LAUNCHER = Slurm()
