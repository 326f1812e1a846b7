"""How a program is started in a simulation: smpirun, a platform, the host of each rank, a limit on memory."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch.launcher import Command, MpiProgram
from hpcscope.rundirectory import write_text

SELECTORS = {"openmpi": "ompi", "mpich": "mpich", "mvapich": "mvapich2", "intelmpi": "impi"}
"""SMPI's names of the libraries' selectors of collective algorithms."""
STACK_KIB = 1024
"""Stack of each rank: with SMPI's default of 8 MiB, thousands of ranks need more than a machine has."""
PIECE_BYTES = 16 << 20
"""Size of the pieces that ranks share."""
MOST_SHARED_BYTES = 65_000 * PIECE_BYTES
"""Most shared bytes of the buffers of all ranks: a process has at most 65,530 pieces of memory. With pieces of
64 MiB, a reduce-scatter took over 120 s instead of 62 s."""
ADDRESSES = 16
"""Multiple of a simulation's memory that its ranks may request: they touch little of it."""
COLLECTIVES = ("SCOPE_TOPOLOGY", "SCOPE_TOPOLOGY_HOSTS", "SCOPE_COLLECTIVES", "SCOPE_COLLECTIVES_SEGMENT")
"""Variables that the topology-aware collectives read from the environment."""
SETTINGS = {
    **{"smpi/wtime": "1e-8", "contexts/stack-size": str(STACK_KIB)},
    **{"smpi/shared-malloc-blocksize": str(PIECE_BYTES)},
}
FEW_RANKS = 512
"""Up to this many ranks, the selector chooses every algorithm."""
SHORT_BYTES = 128
"""Up to this many bytes per rank, every library uses Bruck's algorithm for an all-to-all."""
MANY_RANKS = {
    **{"smpi/bcast": "binomial_tree", "smpi/reduce": "binomial"},
    **{"smpi/alltoallv": "pair", "smpi/allgatherv": "ring"},
}
"""In SMPI's k-nomial broadcast each rank first sends to each other rank, and its pipelined reduction takes
minutes. Linear exchanges have all their messages in flight at once, and whenever one ends, SimGrid 3.32
scans all of them. An allgatherv between neighbors takes three times as long as around a ring."""
SHORT = {"smpi/alltoall": "bruck"}
LONG = {"smpi/alltoall": "pair"}
SHARED = {"smpi/reduce_scatter": "mpich_pair"}
"""The library's choice reached its time limit or filled the memory, probably because it copies all blocks."""
TIMED = ("--cfg=smpi/display-timing:yes", "--log=smpi_utils.thres:info")
TIME = re.compile(r"Simulated time: ([-+.\deE]+) seconds")


def algorithms(ranks: int, short: bool, shares_memory: bool = False) -> dict[str, str]:
    """Return the algorithms that do not follow the library on this many ranks.

    `short`: no message of an all-to-all is longer than `SHORT_BYTES`. `shares_memory`: the buffers of all ranks
    share one piece of memory.
    """
    if ranks <= FEW_RANKS:
        return {}
    return MANY_RANKS | (SHORT if short else LONG) | (SHARED if shares_memory else {})


@dataclass(frozen=True)
class Simulator:
    """A simulated cluster."""

    smpirun: str
    platform: Path
    hosts: Sequence[str]
    """The host of each rank of the largest program."""
    selector: str
    host_speed: float
    """In flop/s of the platform: a second of computation here takes a second on a simulated host of this speed."""
    most_bytes: int
    """Memory limit: buffers that need more are refused, and a program that requests several times this ends."""
    scratch: Path
    """A private directory: SMPI loads every rank from a copy of the program, whose name others could predict."""
    shares_memory: bool = False
    """Whether the buffers of all ranks share one piece of memory: only each rank's own memory is limited then."""

    def command(
        self,
        program: MpiProgram,
        hostfile: Path,
        computes: bool,
        options: Sequence[str] = (),
        short: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> Command:
        """Return how a program is started; `computes`: its computation takes simulated time.

        `options`: further options of smpirun. `short`: as in `algorithms`. `environment`: variables of its ranks
        in addition to the environment of this process.

        Raises UsageError if the simulated hosts have no room for its ranks, ScopeError if the host file cannot be
        written.
        """
        if program.ranks > len(self.hosts):
            raise UsageError(f"{program.ranks} ranks: the simulated hosts have room for {len(self.hosts)}")
        write_text(hostfile, "".join(f"{name}\n" for name in self.hosts[: program.ranks]))
        settings = {
            **SETTINGS,
            "smpi/coll-selector": self.selector,
            **algorithms(program.ranks, short, self.shares_memory),
            "smpi/simulate-computation": "yes" if computes else "no",
            "smpi/host-speed": f"{self.host_speed:.6g}f",
        }
        kib = self.most_bytes // 1024
        bounds = (
            f"ulimit -m {kib}",  # the program refuses what exceeds this
            # Ranks that relay a collective's data request much more memory than they touch. The limit is on
            # addresses, or with shared memory only on data that is not shared.
            f"ulimit {'-d' if self.shares_memory else '-v'} {ADDRESSES * kib}",
            # If it fills the machine after all, the kernel ends the simulation and nothing else.
            "echo 1000 >/proc/self/oom_score_adj",
        )
        # A lower limit set by the user stays, and so does a setting that a container forbids.
        bounded = "".join(f"{{ {bound}; }} 2>/dev/null; " for bound in bounds)
        return Command(
            [
                # The library of collectives is in every simulated program; only the case decides whether it acts.
                *("env", *(word for name in COLLECTIVES for word in ("-u", name))),
                *(f"{name}={value}" for name, value in (environment or {}).items()),
                f"TMPDIR={self.scratch}",  # smpirun of SimGrid 3.32 misreads its option -tmpdir
                *("sh", "-c", f'{bounded}exec "$@"', "smpirun"),
                *(self.smpirun, "-np", str(program.ranks), "-platform", str(self.platform)),
                *("-hostfile", str(hostfile), "--log=root.thres:critical"),
                *(f"--cfg={name}:{value}" for name, value in settings.items()),
                *(*options, program.path, *program.arguments),
            ]
        )


def refuse_unfit(words: Sequence[str]) -> None:
    """Raise UsageError if these words do not name a program that SMPI could load."""
    if not words:
        raise UsageError("--program '': must name a program, compiled with smpicc, smpicxx or smpif90")
    program = Path(words[0])
    if not program.is_file() or not os.access(program, os.X_OK):
        raise UsageError(f"--program {words[0]}: no such program; must be the path of a program")
    if b"libsimgrid" not in program.read_bytes():
        raise UsageError(f"--program {words[0]}: must be compiled with smpicc, smpicxx or smpif90 of SimGrid")


def simulated_time_s(
    words: Sequence[str], ranks: int, simulator: Simulator, hostfile: Path, limit_s: float
) -> float:
    """Run a program on simulated ranks and return the simulated time from its start to its end in s.

    Its output joins Scope's own. Raises ScopeError if a rank fails, if ranks wait for each other forever, and
    after `limit_s` of real time.
    """
    what = f"{' '.join(words)} on {ranks} simulated ranks"
    log = simulator.scratch / "log"
    log.unlink(missing_ok=True)
    program = MpiProgram(str(Path(words[0]).resolve()), tuple(words[1:]), ranks)
    command = simulator.command(program, hostfile, True, [*TIMED, f"--log=root.app:file:{log}"])
    with subprocess.Popen(command.arguments, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise ScopeError(f"{what}: did not end within {limit_s:g} s; give it more time with --limit") from None
        finally:
            if process.poll() is None:  # smpirun is a script: the simulation is its child
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    said = log.read_text(errors="replace") if log.exists() else ""
    if code != 0:
        raise ScopeError(f"{what}: ended with exit code {code}")
    if "Deadlock" in said:  # smpirun's exit code does not show this
        raise ScopeError(f"{what}: its ranks wait for each other forever")
    match = TIME.search(said)
    if match is None:
        raise ScopeError(f"{what}: SMPI printed no time")
    return float(match[1])
