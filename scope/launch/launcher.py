"""What a launcher must be able to do: say how n ranks of a program are started at a site."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Protocol, cast

from scope.errors import UsageError
from scope.lab.active import INTERFACE, MANAGEMENT, ActiveLab, active, topology_file
from scope.launch import scheduler
from scope.launch.scheduler import Allocation
from scope.machine.discover import steering_environment
from scope.machine.machine import MpiInstallation
from scope.plan import experiment
from scope.rundirectory import read_text

MPIEXEC = "mpiexec"
THREADS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "GOTO_NUM_THREADS": "1",
}
"""A rank is one thread unless the environment says otherwise."""


@dataclass(frozen=True)
class HostSlots:
    """One host and how many ranks it takes; None as many as it has usable cores."""

    name: str
    slots: int | None


@dataclass(frozen=True)
class Job:
    """What is started."""

    program: str
    arguments: tuple[str, ...]
    ranks: int
    transport: str = "default"
    binding: str = "none"
    """`core`, `socket` or `none`."""
    oversubscribed: bool = False
    ranks_per_host: int | None = None


@dataclass(frozen=True)
class Site:
    """Where and by what it is started."""

    mpi: MpiInstallation
    mpiexec: str
    """Or what stands for it: srun."""
    kind: str = MPIEXEC
    hosts: tuple[HostSlots, ...] = ()
    """Empty: this host."""
    ranks_per_host: int | None = None
    binding: str = "core"
    """Of ranks of which only the host is prescribed."""
    agent: str | None = None
    interface: str | None = None
    arguments: tuple[str, ...] = ()
    control_interface: str | None = None
    """The network interface that carries the launcher's own messages."""
    topology: Path | None = None
    """The file of groups and speeds, for collectives that use it."""
    one_kernel: bool = False
    """Its hosts are emulated: memory is shared between them, and processors are not their own."""

    @property
    def one_host(self) -> bool:
        """Whether all ranks run on one host, where messages need no network."""
        return len(self.hosts) <= 1


@dataclass(frozen=True)
class Command:
    """What is executed, and the variables that are set for it."""

    arguments: list[str]
    environment: dict[str, str] = field(default_factory=dict)


class Launcher(Protocol):
    """One way to start ranks."""

    kind: str
    """As an experiment's `launcher.kind` names it."""
    mpis: tuple[str, ...]
    """Names of the MPI installations whose programs it starts."""
    scheduler: str | None
    """Whose job it must run in."""
    program: str | None
    """What it executes; None is the mpiexec beside the compiler."""

    def command(self, job: Job, site: Site, environment: Mapping[str, str]) -> Command:
        """Return how `job` is started at `site`; `environment` holds variables that every rank must see."""


def choose(mpi: MpiInstallation, kind: str = MPIEXEC) -> Launcher:
    """Return the launcher of a kind that starts this MPI's programs; raises UsageError when none does."""
    package = import_module("scope.launch.launchers")
    known: list[str] = []
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        launcher = cast(Launcher, import_module(module.name).LAUNCHER)
        if launcher.kind != kind:
            continue
        if mpi.name in launcher.mpis:
            return launcher
        known += launcher.mpis
    raise UsageError(f"--mpi {mpi.compiler}: {mpi.name} has no launcher here; must be one of {', '.join(known)}")


def site(mpi: MpiInstallation, asked: experiment.Launcher, where: str) -> Site:
    """Return the site that an experiment asks for; raises UsageError naming key, value and what is allowed."""
    launcher = choose(mpi, asked.kind)
    granted = scheduler.allocation()
    if launcher.scheduler and (granted is None or granted.scheduler != launcher.scheduler):
        raise UsageError(
            f"{where}: launcher.kind = {asked.kind}: no job of it is running this;"
            " start scope inside one (salloc, sbatch), or add --submit"
        )
    asked_for = Site(
        mpi=mpi,
        mpiexec=_starter(launcher, mpi, asked.mpiexec, where),
        kind=asked.kind,
        hosts=tuple(_within(_hosts(asked, where), granted, where)),
        ranks_per_host=asked.ranks_per_host,
        binding=asked.binding,
        agent=_program(asked.agent, f"{where}: launcher.agent") if asked.agent else None,
        interface=asked.interface,
        arguments=tuple(asked.arguments),
        topology=_readable(asked.topology, f"{where}: launcher.topology") if asked.topology else None,
    )
    lab = active()
    return asked_for if lab is None else _inside(lab, asked_for)


def _inside(lab: ActiveLab, site: Site) -> Site:
    """Return the site as a lab's: all its hosts unless some were named, over its wire, bound to no processor."""
    return replace(
        site,
        hosts=site.hosts or tuple(HostSlots(host.name, host.slots) for host in lab.hosts),
        binding="none",
        agent=site.agent or lab.agent,
        interface=site.interface or INTERFACE,
        control_interface=MANAGEMENT,
        topology=site.topology or topology_file(),
        one_kernel=True,
    )


def command(job: Job, place: Site) -> Command:
    """Return how `job` is started at `place`, with the variables that steer threads set for every rank."""
    environment = {name: os.environ.get(name, value) for name, value in THREADS.items()}
    return choose(place.mpi, place.kind).command(job, place, {**steering_environment(os.environ), **environment})


def _starter(launcher: Launcher, mpi: MpiInstallation, asked: str | None, where: str) -> str:
    if asked is not None:
        return _program(asked, f"{where}: launcher.mpiexec")
    if launcher.program is not None:
        return _program(launcher.program, f"{where}: launcher.kind = {launcher.kind}: {launcher.program}")
    if not mpi.launcher:
        raise UsageError(
            f"{where}: {mpi.compiler} ({mpi.name} {mpi.version}) has no mpiexec beside it;"
            " launcher.mpiexec (--mpiexec) must name it"
        )
    return mpi.launcher


def _program(name: str, where: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise UsageError(f"{where} = {name}: no such program; must be a program on PATH or a path to one")
    return str(Path(found).absolute())


def _readable(name: str, where: str) -> Path:
    if not Path(name).is_file():
        raise UsageError(f"{where} = {name}: no such file; scope topology discover writes one")
    return Path(name).absolute()


def _hosts(asked: experiment.Launcher, where: str) -> list[HostSlots]:
    if asked.hostfile is None:
        return [_host(text, f"{where}: launcher.hosts = {text}") for text in asked.hosts]
    if asked.hosts:
        raise UsageError(f"{where}: launcher.hostfile = {asked.hostfile}: must not be given beside launcher.hosts")
    lines = [line.partition("#")[0].strip() for line in read_text(Path(asked.hostfile)).splitlines()]
    hosts = [_host(line, f"{asked.hostfile}:{number}: {line}") for number, line in enumerate(lines, 1) if line]
    if not hosts:
        raise UsageError(f"{asked.hostfile}: names no host; must have lines such as 'name:2' or 'name slots=2'")
    return hosts


def _within(asked: list[HostSlots], granted: Allocation | None, where: str) -> list[HostSlots]:
    """Return the hosts asked for with the slots that a job has there, or all of the job's when none are."""
    if granted is None:
        return asked
    if foreign := [host.name for host in asked if host.name not in granted.slots]:
        raise UsageError(
            f"{where}: launcher.hosts = {foreign[0]}: is no host of job {granted.job};"
            f" must be of {', '.join(granted.slots)}"
        )
    hosts = asked or [HostSlots(name, None) for name in granted.slots]
    return [HostSlots(host.name, host.slots or granted.slots[host.name]) for host in hosts]


def _host(text: str, where: str) -> HostSlots:
    match = re.fullmatch(r"([\w.-]+)(?:(?::|\s+slots\s*=\s*)(\d+))?", text)
    if match is None or match[2] == "0":
        raise UsageError(f"{where}: must be a host's name, or name:slots with slots from 1")
    return HostSlots(match[1], int(match[2]) if match[2] else None)
