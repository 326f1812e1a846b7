"""What is simulated on which platform, and with which options."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hpcscope.catalog.catalog import Catalog, Settings
from hpcscope.findings.results import Run
from hpcscope.launch.supervision.supervisor import Limits
from hpcscope.machine.machine import Machine, NativeBuild
from hpcscope.models.measurements import short_names
from hpcscope.plan.case import Batch
from hpcscope.plan.plan import Launch, Plan
from hpcscope.settings.simulation import SimulationSettings
from hpcscope.simulation.calibration import Calibration
from hpcscope.simulation.platform import Platform
from hpcscope.simulation.start import SHORT_BYTES

COMPUTING = ("operation", "algorithm", "application")
"""Levels whose benchmarks compute in the timed section."""
COMPUTATION = "computation_s"
"""The metric of benchmarks of other levels that compute."""
END_S = 120.0
"""Longest real time in seconds from the last case to the end of a simulation."""


@dataclass(frozen=True)
class SimulateOptions(SimulationSettings):
    """Everything that `scope simulate` takes."""

    ranks_that_fit: bool = False
    """Whether numbers of ranks for which the hosts have no room are left out instead of refused."""
    changes: Mapping[str, float] = field(default_factory=dict)
    only: Sequence[str] = ()
    """Patterns of benchmarks; empty: all benchmarks that the run measured."""
    program: Sequence[str] | None = None
    """A program of the user's own, compiled for SMPI, and its arguments."""
    output: Path | None = None
    command: Sequence[str] = field(default=(), compare=False)

    @property
    def only_larger(self) -> bool:
        """Whether all hosts and links are like the measured ones, and only their number may differ."""
        return not self.changes and self.topology is None and not self.own_cores

    @property
    def limits(self) -> Limits:
        """The time limits of a launch."""
        return Limits(start_s=self.limit_s, case_s=self.limit_s, end_s=END_S)


@dataclass(frozen=True)
class Request:
    """What is simulated on one platform."""

    known: Run
    measured: Platform
    """The platform of the run, without changes."""
    calibration: Calibration
    build: NativeBuild
    catalog: Catalog
    plan: Plan
    hosts_of: Mapping[Batch, Sequence[str]]
    options: SimulateOptions
    limits: Limits
    selector: str
    """SMPI's name for the library whose choice of algorithms it follows."""
    rules: str | None
    """The collectives' name for that library's selection rules; None if they know none."""

    own_cores: bool = False
    """Whether each host of a lab has its own cores on this platform."""

    @property
    def hosts(self) -> list[str]:
        """The host of each rank if hosts are filled one by one, with as many ranks on each as in the run."""
        launches = self.known.measurements.launches
        counts = [Counter(process.host for process in launch.processes).values() for launch in launches]
        most = max((count for numbers in counts for count in numbers), default=1)
        return [node.name for node in self.calibration.platform.nodes for _ in range(most)]

    @property
    def machine(self) -> Machine:
        """The machine of the simulated hosts: each is the run's host of its name, else its first one."""
        known = self.known.machine
        short = short_names(known)
        hosts = {short(host.name): host for host in known.hosts}
        nodes = self.calibration.platform.nodes
        named = [hosts.get(node.name, known.hosts[0]).model_copy(update={"name": node.name}) for node in nodes]
        return known.model_copy(update={"hosts": named, "build": self.build, "lab": None, "environment": {}})

    def computes(self, launch: Launch) -> bool:
        """Return whether computing takes simulated time in a launch, which this machine then measures."""
        return any(takes_time_to_compute(self.catalog, case.benchmark) for case in launch.cases)

    def is_short(self, launch: Launch) -> bool:
        """Return whether all all-to-alls of a launch have short messages only."""
        return all(exchanges_short(self.catalog, case.benchmark, case.parameters) for case in launch.cases)

    def speed_here(self, ranks: int) -> float:
        """Return this machine's compute speed for this many ranks, in flop/s of the platform as it was measured.

        The hosts of a lab share the processors of one machine: with more ranks than processors, each gets a share.
        """
        machine = self.known.machine
        speed = self.measured.nodes[0].flops_per_s.estimate.value
        if machine.lab is None or self.own_cores:
            return speed
        processors = machine.hosts[0].processor.usable_processors
        return speed * max(1.0, ranks / processors)


def takes_time_to_compute(catalog: Catalog, benchmark: str) -> bool:
    """Return whether computing must take simulated time in a benchmark; else one that awaits it never ends."""
    declared = catalog[benchmark]
    return declared.level in COMPUTING or any(
        metric.name == COMPUTATION or metric.unit == "flop/s" for metric in declared.metrics
    )


def exchanges_short(catalog: Catalog, benchmark: str, parameters: Settings) -> bool:
    """Return whether MPI_Alltoall has short messages only in a benchmark.

    Programs exchange the counts of their data with it, and the data with MPI_Alltoallv.
    """
    return catalog[benchmark].level in COMPUTING or (catalog.size(benchmark, parameters) or 0) <= SHORT_BYTES
