"""The declaration of every MPI implementation: how it is recognized and how its processes are controlled."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

LOOPBACK = "lo"


@dataclass(frozen=True)
class Conditions:
    """What the environment of an MPI program depends on."""

    version: str = ""
    """Version of the MPI library; empty if it is not known."""
    tcp: bool = False
    """Whether every message is sent over TCP, also inside a host."""
    provider: str | None = None
    """The libfabric provider that carries every message, also inside a host; None: what the library chooses."""
    oversubscribed: bool = False
    """Whether there are more ranks than processors: a waiting rank yields its processor."""
    shared_kernel: bool = False
    """Whether the hosts are emulated: they share a kernel and its processors, and only TCP keeps them apart."""
    one_host: bool = True
    fabric: bool = True
    """Whether messages may take an adapter that libfabric or UCX drives."""
    interface: str | None = None
    """The network interface that carries the messages; None leaves the choice to the library."""

    @property
    def major(self) -> int:
        """The major version of the library; 0 if it is not known."""
        number = self.version.partition(".")[0]
        return int(number) if number.isdigit() else 0


class MpiFamily(Protocol):
    """Implementations that share an ABI, the options of their launcher and the variables that control them."""

    name: str
    sonames: tuple[str, ...]
    """Names under which programs ask for the library."""
    process_manager: str
    """The process management interface that srun must offer."""
    shared_memory: tuple[str, ...]
    """Patterns of the names of its files below /dev/shm."""
    session: str
    """Session directory of a launcher among the temporary files, with {host}, {user} and {launcher} (its process);
    empty if it has none, or is told where to put it."""

    def environment(self, conditions: Conditions) -> dict[str, str]:
        """Return the variables that every rank needs under these conditions."""

    def launching(self, remote_shell: str, control_interface: str) -> dict[str, str]:
        """Return the variables that tell its launchers how to reach other hosts, and to bind no rank."""

    def exports(self, variables: Mapping[str, str]) -> list[str]:
        """Return the launcher's arguments that set variables on all ranks."""

    def inherits(self, names: Iterable[str]) -> list[str]:
        """Return the launcher's arguments that pass variables of its own environment to all ranks."""


@dataclass(frozen=True)
class MpiImplementation:
    """One implementation of MPI."""

    name: str
    """The name as `--mpi` and machine.json spell it."""
    title: str
    """The name as its authors spell it."""
    family: MpiFamily | None
    """The family; None if no launcher here starts this implementation."""
    version_macros: tuple[tuple[str, ...], ...] = ()
    """Macros of mpi.h that give the version, one group per generation of the library."""
    banner: str = ""
    """Pattern of the version in what the launcher's `--version` prints; empty if it prints none."""
    banner_differs: bool = False
    """Whether launcher and header spell the same version differently, so that only the name can be compared."""
    sonames: tuple[str, ...] = ()
    """Names of its library besides those of its family."""
    compiler: str = "mpicxx"
    """Name of its compiler wrapper for C++."""
    compiler_version: tuple[str, ...] = ("--version",)
    """Arguments that ask the wrapper for the version of the compiler behind it."""
    launchers: tuple[str, ...] = ("mpiexec", "mpirun", "mpiexec.hydra")
    """Names of its launcher, which is next to the compiler."""
    simulates: bool = False
    """Whether its ranks run in a simulation: it is used only if it is asked for."""
