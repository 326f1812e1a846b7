"""Start of a mix's job on its slots, and the CPU time that its ranks report."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hpcscope.build import native
from hpcscope.build.registry import load
from hpcscope.errors import UsageError
from hpcscope.launch.cluster import Cluster
from hpcscope.launch.launcher import Command, MpiProgram
from hpcscope.launch.site import start_command
from hpcscope.plan import sweep
from hpcscope.plan.sweep import Source
from hpcscope.programs.campaign import programs
from hpcscope.programs.profiles.program import located
from hpcscope.programs.throughput.mix import Job, Mix
from hpcscope.settings.hosts import HostSlots

# `times` reports on children that the shell waited for; in a pipe or a substitution, it would report on another
# shell. Some shells print it with the decimal comma of the user's language.
TIMED = (
    '"$@" || exit; LC_ALL=C; file=$(mktemp) || exit 0; times >"$file"; '
    '{ read -r own; read -r user system; } <"$file"; rm -f "$file"; '
    'printf "scope-times %s %s\\n" "$user" "$system" >&2'
)
"""Shell script that runs a program and, if it succeeds, prints its user and system time."""
_SAID = re.compile(r"scope-times (\d+)m([\d.]+)s (\d+)m([\d.]+)s")


@dataclass(frozen=True)
class JobStarter:
    """Starts the jobs of one mix."""

    cluster: Cluster
    words: dict[str, list[str]]
    """Words of each job's program, by name of the job."""

    @property
    def slots(self) -> tuple[int, ...]:
        """Number of slots of each host."""
        return self.cluster.place.slots

    def command(self, job: Job, taken: Sequence[int]) -> Command:
        """Return the command that starts a job on the given numbers of slots of each host.

        Ranks are not bound: launchers that do not know of each other would bind their ranks to the same cores.
        """
        site = self.cluster.site
        if site.hosts:
            hosts = [HostSlots(host.name, count) for host, count in zip(site.hosts, taken, strict=True) if count]
            site = replace(site, hosts=tuple(hosts), ranks_per_host=None)
        words = ("-c", TIMED, "scope", *self.words[job.name])
        return start_command(MpiProgram("sh", words, job.ranks, binding="none"), site)


def starter(mix: Mix, cluster: Cluster, folder: Path, where: str) -> JobStarter:
    """Return the starter of a mix's jobs; a UsageError that begins with `where` if a job cannot run here."""
    room = sum(cluster.place.slots)
    words = {}
    for job in mix.job:
        if job.ranks > room:
            raise UsageError(
                f"{where}: {job.name}: ranks = {job.ranks}: must be at most {room}, the number of slots"
            )
        words[job.name] = _program(job, cluster, folder, where)
    return JobStarter(cluster, words)


def _program(job: Job, cluster: Cluster, folder: Path, where: str) -> list[str]:
    if job.benchmark is not None:
        name, arguments = _checked(job, cluster, where)
        return programs.command(name, arguments, cluster.site.mpi)
    if cluster.site.one_host and located(job.program[0], dict(os.environ), folder) is None:
        raise UsageError(
            f"{where}: {job.name}: program = {job.program[0]}: no such program; must be on PATH or a path"
        )
    return job.program


def _checked(job: Job, cluster: Cluster, where: str) -> tuple[str, str]:
    """Return benchmark and parameters of a job; UsageError if the native program would refuse them."""
    assert job.benchmark is not None
    name, *parameters = job.benchmark.split()
    where = f"{where}: {job.name}"
    catalog = load(native.build(cluster.site.mpi).program)
    declared = catalog.get(name)
    if declared is None:
        raise UsageError(f"{where}: benchmark = {name}: there is no such benchmark; see `scope list`")
    if not declared.available:
        raise UsageError(f"{where}: benchmark = {name}: is not available: {declared.reason}")
    factors = sweep.parse(" ".join(parameters), where)
    if foreign := [key for key in factors if key not in declared.parameter]:
        raise UsageError(f"{where}: {foreign[0]}: must be a parameter of {name}; ranks are a key of the job")
    if several := [key for key, values in factors.items() if len(values) > 1]:
        raise UsageError(f"{where}: {several[0]} = {','.join(factors[several[0]])}: a job must have one value")
    if not declared.ranks.allows(job.ranks):
        raise UsageError(f"{where}: ranks = {job.ranks}: must be {declared.ranks.description}")
    ranks = {"ranks": [str(job.ranks)]}
    (case,) = sweep.expand(factors | ranks, declared, cluster.place, "none", Source(where, person=True))
    return name, " ".join(f"{key}={case.parameters[key]}" for key in factors)


def processor_time(printed: str, ranks: int) -> float | None:
    """Return the CPU time in seconds that the ranks of a job printed; None unless all ranks printed it."""
    said = _SAID.findall(printed)
    if len(said) != ranks:
        return None
    return sum(60 * int(minutes) + float(seconds) for clock in said for minutes, seconds in (clock[:2], clock[2:]))
