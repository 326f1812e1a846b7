"""What a launcher must be able to do: say how an MPI program is started at a site."""

import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hpcscope.build.active_messages import PROVIDER_NAME
from hpcscope.build.mpi import registry
from hpcscope.build.mpi.implementation import Conditions, MpiFamily
from hpcscope.launch.leftovers import FOLDER, MARK
from hpcscope.machine.links import fabric_adapter_present
from hpcscope.machine.machine import MpiInstallation
from hpcscope.plan.case import over_active_messages
from hpcscope.settings.experiment import Binding
from hpcscope.settings.hosts import HostSlots

MPIEXEC = "mpiexec"


@dataclass(frozen=True)
class MpiProgram:
    """What is started: a program, on how many ranks, and where its ranks are placed."""

    path: str
    arguments: tuple[str, ...]
    ranks: int
    transport: str = "default"
    binding: Binding = "none"
    oversubscribed: bool = False
    ranks_per_host: int | None = None
    exit_codes: bool = False
    """Whether the launcher prints how every process ended, if it can."""


@dataclass(frozen=True)
class Storage:
    """The folder in which the ranks create their files, and the mark in the names of these files."""

    folder: str
    mark: str

    @property
    def variables(self) -> dict[str, str]:
        """The variables that tell the native program both."""
        return {FOLDER: self.folder, MARK: self.mark}


@dataclass(frozen=True)
class Site:
    """Where MPI programs are started, and by which launcher."""

    mpi: MpiInstallation
    mpiexec: str
    """Path of the launcher: mpiexec or srun."""
    kind: str = MPIEXEC
    hosts: tuple[HostSlots, ...] = ()
    """The hosts; empty: this host."""
    ranks_per_host: int | None = None
    binding: Binding = "core"
    """Binding of launches whose placement prescribes none."""
    remote_shell: str | None = None
    """The program that replaces ssh."""
    interface: str | None = None
    arguments: tuple[str, ...] = ()
    control_interface: str | None = None
    """The network interface of the launcher's own messages."""
    topology: Path | None = None
    """The topology file of the topology-aware collectives."""
    storage: Storage | None = None
    shared_kernel: bool = False
    """Whether the hosts are emulated: they share one kernel, its memory and its processors."""

    @property
    def one_host(self) -> bool:
        """Whether all ranks run on one host, where messages need no network."""
        return len(self.hosts) <= 1

    @property
    def family(self) -> MpiFamily:
        """The family of the MPI; every implementation that has a launcher has one."""
        family = registry.family_of(self.mpi.name)
        assert family is not None
        return family

    @property
    def _embedded(self) -> bool:
        """Whether the MPI is the wheel installed with Scope, which no administrator has configured."""
        return Path(self.mpi.compiler).parent == Path(sysconfig.get_path("scripts"))

    def binding_of(self, program: MpiProgram) -> Binding:
        """Return how ranks are bound: not at all if they share processors, since bound ranks would wait then."""
        return "none" if program.oversubscribed or self.shared_kernel else program.binding

    def conditions(self, program: MpiProgram) -> Conditions:
        """Return what the environment of a program depends on."""
        return Conditions(
            version=self.mpi.version,
            tcp=program.transport == "tcp",
            provider=PROVIDER_NAME if over_active_messages(program.transport) else None,
            oversubscribed=program.oversubscribed,
            shared_kernel=self.shared_kernel,
            one_host=self.one_host,
            fabric=not (self.one_host and self._embedded) or fabric_adapter_present(),
            interface=self.interface,
        )


@dataclass(frozen=True)
class Command:
    """A command line, and the variables that are set for it."""

    arguments: list[str]
    environment: dict[str, str] = field(default_factory=dict)


class Launcher(Protocol):
    """One way to start ranks."""

    kind: str
    """The kind, as spelled in an experiment's `launcher.kind`."""
    mpis: tuple[str, ...]
    """Names of the MPI implementations whose programs it starts."""
    scheduler: str | None
    """The batch system if it works only in that system's jobs; else None."""
    program: str | None
    """The program that it runs; None: the mpiexec next to the compiler."""

    def command(self, program: MpiProgram, site: Site, environment: Mapping[str, str]) -> Command:
        """Return how `program` is started at `site`; every rank must get the variables of `environment`."""
