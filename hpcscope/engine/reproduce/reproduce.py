"""A published experiment at a size that fits this machine, and the published values next to ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from hpcscope.build import collectives, installations
from hpcscope.engine.directories import new_directory
from hpcscope.engine.progress import RunProgress, silent
from hpcscope.engine.reproduce import places, study
from hpcscope.engine.run.run import resume, run
from hpcscope.errors import ScopeError, UsageError
from hpcscope.findings.results import Run
from hpcscope.lab.active import active
from hpcscope.launch.cluster import probe_cluster
from hpcscope.launch.site import site_of
from hpcscope.models.published import judgement
from hpcscope.models.published.observed import ObservedRun
from hpcscope.models.published.overview import ComparedValue
from hpcscope.models.published.reference import Reference, Scale, SimulatedPlace, load
from hpcscope.plan.experiment import COMMAND_LINE, resolve, write
from hpcscope.plan.placement import Placement
from hpcscope.rundirectory import write_text
from hpcscope.settings.comparing import ReproductionSettings
from hpcscope.settings.experiment import Experiment
from hpcscope.topology.estimate import LIBRARY, LIMIT, estimate
from hpcscope.topology.topology import read as read_topology

LONGEST_CASE_S = 600.0
"""Time limit of a case: in a lab, or on a slow processor, one repetition may take half a minute."""
SIMULATED_CASE_S = 600.0
LONGEST_FULL_CASE_S = 6 * 3600.0
"""Over an emulated WAN, a repetition at a published size takes minutes (broadcast) to hours (matrix product)."""


@dataclass(frozen=True)
class ReproduceOptions(ReproductionSettings):
    """Everything that `scope reproduce` takes."""

    name: str = ""
    """Name of the experiment; empty if all are repeated."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Settings of an experiment by their keys: MPI, hosts, storage."""
    output: Path | None = None
    run: Path | None = None
    """Take the results of this run and measure nothing."""
    resume: Path | None = None
    """Measure what is missing in this folder."""


@dataclass(frozen=True)
class Reproduced:
    """A published experiment compared with ours."""

    reference: Reference
    rows: list[ComparedValue]
    folder: Path


def lab_of(options: ReproduceOptions) -> str | None:
    """Return the lab in which this command must run; None if it can run here."""
    reference = load(options.name)
    outside = options.run is None and not reference.place and active() is None
    return reference.lab if outside else None


def reproduce(
    options: ReproduceOptions, progress: RunProgress = silent, command: Sequence[str] = ()
) -> Reproduced:
    """Run a published experiment, unless a run is given, and return its results next to the published ones."""
    reference = load(options.name)
    folder = options.run
    if folder is None:
        folder = _measured(reference, options, progress, command)
    return Reproduced(reference, _compared(reference, folder), folder)


def _measured(
    reference: Reference, options: ReproduceOptions, progress: RunProgress, command: Sequence[str]
) -> Path:
    """Run the experiment like any other, or only what is missing of it, and return its run directory."""
    if reference.place:
        return _measured_places(reference, options)
    if options.resume is not None:
        outcome = resume(options.resume, progress=progress)
    else:
        directory = new_directory(options.name, options.output)
        experiment = _experiment(reference.scale(options.full), options, reference.hosts)
        where = f"reference/{options.name}.toml"
        outcome = run(experiment, where, directory.path, command, progress)
    path = outcome.directory.path
    if not outcome.well:
        raise ScopeError(f"{path}: a case failed, or its data were wrong; see the findings of the run")
    return path


def _measured_places(reference: Reference, options: ReproduceOptions) -> Path:
    """Measure at each of the places of the experiment and return the folder of their runs."""
    folder = options.resume or new_directory(options.name, options.output).path
    commands: dict[str, places.Command] = {}
    if reference.study is not None:
        scale = reference.study.full if options.full else reference.study.fitting
        mpi, repetitions = options.given.get("mpi"), options.launches
        commands |= study.commands(reference.study, reference.place, scale, mpi, folder, repetitions)
    else:
        for place in reference.place:
            if place.simulated is not None:
                commands[place.name] = partial(_simulation, reference, place.name, place.simulated, folder)
                continue
            file = folder / f"{place.name}.toml"
            experiment = _experiment(place.scale(options.full), options, [], here=place.lab is None)
            write_text(file, write(experiment))
            commands[place.name] = ["run", str(file), "--output", str(folder / place.name)]
    places.measure(reference.place, commands, folder, options.full)
    return folder


def _simulation(reference: Reference, name: str, simulated: SimulatedPlace, folder: Path) -> list[str]:
    """Return the command that simulates another place's run with processors as slow as the published ones."""
    measured = [place for place in reference.place if place.name == simulated.of]
    known = judgement.KnownValues(reference.reading, places.observed(measured, folder), {})
    alone = known.read(simulated.reading).measured
    if alone is None:
        raise UsageError(f"{folder / simulated.of}: has no {simulated.reading!r}, which the simulation needs")
    ranks = ",".join(map(str, simulated.ranks))
    words = ["simulate", str(folder / simulated.of), *simulated.benchmarks, "--ranks", ranks, "--own-cores"]
    slower = alone.estimate.value / simulated.published_s
    words += ["--hosts", str(max(simulated.ranks)), "--set", f"host.speed={slower:.4g}"]
    words += ["--collectives", simulated.collectives]
    return [*words, "--limit", f"{SIMULATED_CASE_S:g}", "--output", str(folder / name)]


def _experiment(scale: Scale, options: ReproduceOptions, hosts: Sequence[str], here: bool = True) -> Experiment:
    """Return the experiment of a scale; `here`: without cases that have too many ranks for these hosts."""
    keys = {
        "name": options.name,
        "launches": scale.launches if options.launches is None else options.launches,
        "sampling.budget_s": options.budget_s,
        "limit_s": LONGEST_FULL_CASE_S if options.full else LONGEST_CASE_S,
        "launcher.hosts": list(hosts),
        **options.given,
    }
    room = _room(resolve(None, keys)) if here else None
    return resolve(None, {**keys, "case": fitting(scale, room)})


def _room(experiment: Experiment) -> int | None:
    """Return how many ranks a case may have; None: as many as it asks for."""
    if experiment.launcher.oversubscribe:
        return None
    site = site_of(installations.find(experiment.mpi), experiment.launcher, COMMAND_LINE)
    return probe_cluster(site).place.room(Placement(experiment.launcher.binding))


def fitting(scale: Scale, room: int | None) -> list[str]:
    """Return the cases except those with a fixed number of ranks greater than `room`."""

    def fits(text: str) -> bool:
        word = next(word for word in text.split() if word.startswith("ranks=")).removeprefix("ranks=")
        return room is None or not word.isdigit() or int(word) <= room

    return [text for text in scale.cases if fits(text)]


def _compared(reference: Reference, folder: Path) -> list[ComparedValue]:
    """Return the published values next to the results of the runs in a folder."""
    if reference.place:
        observed_places = places.observed(reference.place, folder)
    else:
        observed_places = {"": _observed(reference, Run(folder))}
    known = judgement.KnownValues(reference.reading, observed_places, places.absent(folder))
    return judgement.compared(reference.statement, known)


def _observed(reference: Reference, run: Run) -> ObservedRun:
    """Return the results of a run: its cases and, if the readings need them, facts from its topology."""
    observed_run = places.observed_run(run, reference.link_bits_per_s)
    asked = {reading.read for reading in reference.reading.values()}
    if not asked & {"broadcast_limit", "trunk", "trunk_bytes"}:
        return observed_run
    topology = run.directory.topology
    if not topology.is_file():
        raise UsageError(f"{run.path}: must be a run on several groups of hosts, with its topology.toml")
    if "broadcast_limit" not in asked:
        return replace(observed_run, topology=read_topology(topology), samples=run.raw_samples)
    estimates = _estimates(run, topology)
    return replace(observed_run, broadcasts_s=estimates, broadcast_limit_s=estimates.get(LIMIT))


def _estimates(run: Run, topology: Path) -> dict[str, float]:
    """Return the estimated times of the largest broadcast of a run by transport, and their limit."""
    times = run.measurements.of("mpi.broadcast", "time_s")
    if not times or run.machine.build is None:
        return {}
    largest = max(times, key=lambda case: (case.ranks, run.measurements.size(case)))
    estimates = estimate(
        collectives.build(run.machine.build.mpi).estimator,
        topology,
        "broadcast",
        run.measurements.size(largest),
        run.measurements.hosts(largest),
    )
    by_transport = {
        f"collectives.broadcast.{name}": algorithm_estimate.seconds
        for name, algorithm_estimate in estimates.items()
    }
    return by_transport | {"default": estimates[LIBRARY].seconds, LIMIT: estimates[LIMIT].seconds}
