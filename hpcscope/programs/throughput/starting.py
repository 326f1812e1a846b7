"""How a job of a mix is started on the slots that it got, and how much processor time its ranks say they used."""

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

# `times` tells of what the shell waited for; in a pipe or a substitution it would tell of another shell. Some
# shells print it with the decimal comma of the user's language.
TIMED = (
    '"$@" || exit; LC_ALL=C; file=$(mktemp) || exit 0; times >"$file"; '
    '{ read -r own; read -r user system; } <"$file"; rm -f "$file"; '
    'printf "scope-times %s %s\\n" "$user" "$system" >&2'
)
"""A shell's program that runs another one and, where that succeeds, prints its user and system time."""
_SAID = re.compile(r"scope-times (\d+)m([\d.]+)s (\d+)m([\d.]+)s")


@dataclass(frozen=True)
class JobStarter:
    """Starts the jobs of one mix."""

    cluster: Cluster
    words: dict[str, list[str]]
    """The program of each job, by its name."""

    @property
    def slots(self) -> tuple[int, ...]:
        """Return the slots of each host."""
        return self.cluster.place.slots

    def command(self, job: Job, taken: Sequence[int]) -> Command:
        """Return how a job is started on so many slots of each host.

        Ranks are not bound: launchers that know nothing of each other would bind theirs to the same processors.
        """
        site = self.cluster.site
        if site.hosts:
            hosts = [HostSlots(host.name, count) for host, count in zip(site.hosts, taken, strict=True) if count]
            site = replace(site, hosts=tuple(hosts), ranks_per_host=None)
        words = ("-c", TIMED, "scope", *self.words[job.name])
        return start_command(MpiProgram("sh", words, job.ranks, binding="none"), site)


def starter(mix: Mix, cluster: Cluster, folder: Path, where: str) -> JobStarter:
    """Return the starter of the jobs of a mix; UsageError beginning with `where` for one that cannot run here."""
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
    """Return benchmark and parameters of a job; UsageError for what the native program would refuse."""
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
    """Return the processor time in seconds that the ranks of a job printed; None unless all of them did."""
    said = _SAID.findall(printed)
    if len(said) != ranks:
        return None
    return sum(60 * int(minutes) + float(seconds) for clock in said for minutes, seconds in (clock[:2], clock[2:]))
