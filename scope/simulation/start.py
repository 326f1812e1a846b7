"""How a program is started in a simulation: smpirun, a platform, the host of each rank, a bound of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scope.errors import UsageError
from scope.launch.launcher import Command, MpiProgram
from scope.rundirectory import write_text

SELECTORS = {"openmpi": "ompi", "mpich": "mpich", "mvapich": "mvapich2", "intelmpi": "impi"}
"""SMPI's names of how the libraries choose the algorithms of their collectives."""
STACK_KIB = 1024
"""Of each rank: SMPI's default of 8 MiB for thousands of ranks is more than a machine has."""
SETTINGS = {"smpi/wtime": "1e-8", "contexts/stack-size": str(STACK_KIB)}
FEW_RANKS = 512
"""Up to so many ranks the selector chooses every algorithm."""
MANY_RANKS = {"smpi/bcast": "binomial_tree", "smpi/alltoall": "pair"}
"""SMPI's k-nomial broadcast first has each rank send to each, and a linear all-to-all has all these messages under
way at once: on 1,024 ranks each takes longer than all the rest."""


@dataclass(frozen=True)
class Simulator:
    """A simulated cluster."""

    smpirun: str
    platform: Path
    hosts: Sequence[str]
    """The host of each rank of the largest program."""
    selector: str
    host_speed: float
    """In flop/s of the platform: what computes a second here takes as long on a host of this speed."""
    most_bytes: int
    """Limit of its address space: a simulation that needs more ends instead of filling this machine."""
    scratch: Path
    """A private folder: SMPI loads every rank from a copy of the program, whose name others could foresee."""

    def command(self, program: MpiProgram, hostfile: Path, computes: bool, options: Sequence[str] = ()) -> Command:
        """Return how a program is started; `computes`: its computation takes simulated time.

        `options`: further ones of smpirun.

        Raises UsageError where the simulated hosts have no room for its ranks, ScopeError where the host file
        cannot be written.
        """
        if program.ranks > len(self.hosts):
            raise UsageError(f"{program.ranks} ranks: the simulated hosts have room for {len(self.hosts)}")
        write_text(hostfile, "".join(f"{name}\n" for name in self.hosts[: program.ranks]))
        settings = {
            **SETTINGS,
            "smpi/coll-selector": self.selector,
            **(MANY_RANKS if program.ranks > FEW_RANKS else {}),
            "smpi/simulate-computation": "yes" if computes else "no",
            "smpi/host-speed": f"{self.host_speed:.6g}f",
        }
        return Command(
            [
                *("env", f"TMPDIR={self.scratch}"),  # smpirun of SimGrid 3.32 misreads its option -tmpdir
                *("sh", "-c", f'ulimit -v {self.most_bytes // 1024} && exec "$@"', "smpirun"),
                *(self.smpirun, "-np", str(program.ranks), "-platform", str(self.platform)),
                *("-hostfile", str(hostfile), "--log=root.thres:critical"),
                *(f"--cfg={name}:{value}" for name, value in settings.items()),
                *(*options, program.path, *program.arguments),
            ]
        )
