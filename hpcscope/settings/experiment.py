"""An experiment: what `scope run` measures, and how; `experiment.toml` and the options of the command line."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from hpcscope.names import NAME
from hpcscope.settings.hosts import Hostfile, Hosts, HostSlots, Nodes
from hpcscope.settings.kinds import DAY_S, HOUR_S, Choice, Duration, Flag, Kind, Several, Share, Text, Whole
from hpcscope.settings.selection import CaseKind, Selection
from hpcscope.settings.table import SettingsTable, setting

Module = Literal["baseline", "standard", "advanced"]
Binding = Literal["core", "socket", "none"]
MOST_RANKS = 10**7

PROCEDURE = "Measurement procedure"
MPI_AND_HOSTS = "MPI and hosts"
BATCH = "Batch system"

_word = Text(r"[\w.@:+-]+", "must be letters, digits and . _ @ : + -", metavar="NAME")
_line = Text(r"[^\n\r\x00]+", "must be one line")


@dataclass(frozen=True)
class Sampling(SettingsTable):
    """When a case has been sampled enough."""

    precision: float = setting(
        0.02,
        Share(above=True),
        "Target half width of the 95 % CI of a median, relative to the median.",
        PROCEDURE,
    )
    budget_s: float | None = setting(
        None, Duration(HOUR_S), "Time per case in each launch (mpiexec); default: some milliseconds.", PROCEDURE
    )
    minimum_repetitions: int | None = setting(
        None, Whole(1, 10**7), "Minimum repetitions of a case in each launch (mpiexec).", PROCEDURE
    )
    maximum_repetitions: int | None = setting(
        None, Whole(1, 10**7), "Maximum repetitions of a case in each launch (mpiexec).", PROCEDURE
    )
    synchronization: Literal["window", "dissemination"] | None = setting(
        None,
        Choice("window", "dissemination"),
        "How ranks start together: at an agreed time, or after a barrier; default: whichever suits the case.",
        PROCEDURE,
    )


@dataclass(frozen=True)
class LauncherSettings(SettingsTable):
    """How processes are started, and what is asked of a batch system."""

    kind: Literal["mpiexec", "slurm"] = setting(
        "mpiexec",
        Choice("mpiexec", "slurm"),
        "Launcher of ranks: the MPI's own mpiexec, or srun inside a Slurm job.",
        MPI_AND_HOSTS,
        option="launcher",
    )
    hosts: tuple[HostSlots, ...] = setting(
        (), Hosts(), "Hosts and their slots, such as a:2,b:2 or n[1-4]; default: the job's hosts, or this host."
    )
    hostfile: tuple[HostSlots, ...] = setting(
        (), Hostfile(), "File with one line per host or per slot: name, name:N or name slots=N.", MPI_AND_HOSTS
    )
    ranks_per_host: int | None = setting(None, Whole(1, 4096), "Ranks on each host (mpiexec -ppn).", MPI_AND_HOSTS)
    binding: Binding = setting("core", Choice(*get_args(Binding)), "What to bind each rank to.", MPI_AND_HOSTS)
    interface: str | None = setting(
        None, Text(metavar="NAME"), "Network interface for messages, for example eth0.", MPI_AND_HOSTS
    )
    topology: str | None = setting(
        None,
        Text(metavar="FILE"),
        "topology.toml for transport=collectives (scope topology discover).",
        MPI_AND_HOSTS,
    )
    storage: str | None = setting(
        None,
        Text(metavar="DIR"),
        "Directory in which storage is measured; default: $SCOPE_STORAGE, or next to the run directory.",
        MPI_AND_HOSTS,
    )
    mpiexec: str | None = setting(
        None, Text(metavar="PATH"), "Path to srun, or to an mpiexec that is not next to mpicxx.", MPI_AND_HOSTS
    )
    remote_shell: str | None = setting(
        None, Text(metavar="PROGRAM"), "Program to start remote processes with, instead of ssh.", MPI_AND_HOSTS
    )
    arguments: tuple[str, ...] = setting(
        (),
        Several(Kind(), repeated=True, metavar="WORD"),
        "Extra argument for mpiexec or srun; may be repeated.",
        MPI_AND_HOSTS,
        option="launcher-argument",
    )
    oversubscribe: bool = setting(
        False, Flag(), "Allow more ranks than slots; by default, each usable core is one slot.", MPI_AND_HOSTS
    )
    scheduler: Literal["slurm", "gridengine", "pbs", "lsf"] = setting(
        "slurm", Choice("slurm", "gridengine", "pbs", "lsf"), "Batch system of --submit.", BATCH
    )
    partition: str | None = setting(None, _word, "Partition or queue of the job.", BATCH)
    account: str | None = setting(None, _word, "Account or project of the job.", BATCH)
    parallel_environment: str | None = setting(
        None, _word, "Grid Engine parallel environment; it sets the ranks per host.", BATCH
    )
    nodes: int | None = setting(
        None, Whole(1, 100_000), "Number of nodes of the job; default: the number of named nodes, or 1.", BATCH
    )
    nodelist: tuple[str, ...] = setting(
        (), Several(Nodes(), metavar="NODE[1-4]"), "Nodes of the job, as Slurm spells them.", BATCH
    )
    exclusive: bool = setting(True, Flag(), "Whether the job has its nodes to itself; default: yes.", BATCH)
    time_limit_s: float | None = setting(
        None, Duration(30 * DAY_S, least=60), "Time limit of the job; default: the limit of the queue.", BATCH
    )
    time_margin_s: float = setting(
        30.0, Duration(DAY_S, least=5), "How long before the job's time limit a run stops itself.", BATCH
    )
    scheduler_arguments: tuple[str, ...] = setting(
        (),
        Several(_line, repeated=True),
        "Extra directive for the job script; may be repeated.",
        BATCH,
        option="scheduler-argument",
    )

    def __post_init__(self) -> None:
        """Use the hosts of the host file as the named hosts."""
        if self.hosts and self.hostfile:
            raise ValueError("hosts, hostfile: at most one of them must be given")
        object.__setattr__(self, "hosts", self.hosts or self.hostfile)
        object.__setattr__(self, "hostfile", ())


@dataclass(frozen=True)
class Experiment(SettingsTable):
    """`experiment.toml`."""

    name: str | None = setting(
        None,
        Text(
            NAME,
            "must begin with a letter or digit, and have up to 100 letters, digits, dots, dashes, underscores",
            metavar="NAME",
        ),
        "Name of the run, and of its directory unless --output names one.",
        PROCEDURE,
    )
    module: Module = setting(
        "baseline", Choice(*get_args(Module)), "Benchmarks: baseline (2 min), standard (25 min), advanced (more)."
    )
    case: tuple[Selection, ...] = setting(
        (),
        Several(CaseKind(), repeated=True, metavar="CASE"),
        "One case, such as 'mpi.latency message_bytes=0,1Ki mode=standard'; may be repeated.",
    )
    only: tuple[str, ...] = setting(
        (),
        Several(Text()),
        "Benchmarks: mpi.latency, mpi.* or mpi; benchmarks not in the module come from a larger module.",
        option="WHAT",
    )
    by: Literal["node-type"] | None = setting(
        None,
        Choice("node-type"),
        "Measure every case on all hosts and on each sub-cluster of equal hosts.",
        PROCEDURE,
    )
    ranks: tuple[int, ...] = setting(
        (), Several(Whole(1, MOST_RANKS), metavar="2,4"), "Numbers of ranks, instead of the module's.", PROCEDURE
    )
    transport: tuple[str, ...] = setting(
        (),
        Several(Text(), metavar="NAME"),
        "Transport of MPI messages: default, tcp, active-messages or active-messages.no-flow-control.",
        MPI_AND_HOSTS,
    )
    refine: bool = setting(False, Flag(), "Also measure sizes around the breakpoints of the curves.", PROCEDURE)
    launches: int | None = setting(
        None,
        Whole(1, 1000),
        "Launches (mpiexec) of each case; default: 6, and up to 9 if the CI of the case is wide.",
        PROCEDURE,
    )
    time_s: float | None = setting(
        None, Duration(30 * DAY_S), "Start no launch after this time, except the first 6; default: the module's."
    )
    limit_s: float | None = setting(
        None, Duration(30 * DAY_S), "Time limit of a case; default: 20 times its budget, at least 30 s.", PROCEDURE
    )
    seed: int | None = setting(
        None, Whole(0, 2**31 - 1), "Seed of the random order; default: random, and recorded.", PROCEDURE
    )
    mpi: str | None = setting(
        None,
        Text(metavar="MPI"),
        "openmpi, mpich, embedded, an installation's directory, or the path of an mpicxx; default: first found.",
        MPI_AND_HOSTS,
    )
    sampling: Sampling = Sampling()
    launcher: LauncherSettings = LauncherSettings()

    @property
    def title(self) -> str:
        """Return the name asked for, else what is measured, such as `mpi.latency-and-2-more`."""
        if self.name is not None:
            return self.name
        asked = list(dict.fromkeys([case.benchmark for case in self.case] or self.only))
        first = re.sub(r"[^A-Za-z0-9._-]", "", asked[0])[:60].strip("._-") if asked else ""
        if not first:
            return self.module
        return f"{first}-and-{len(asked) - 1}-more" if len(asked) > 1 else first
