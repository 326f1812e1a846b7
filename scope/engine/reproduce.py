"""A published experiment at a size that fits this machine, and the published figures beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from scope.build import collectives, installations
from scope.engine import published_places, published_study
from scope.engine.directories import make_latest, new_directory
from scope.engine.progress import RunProgress, silent
from scope.engine.results import Run
from scope.engine.run import resume, run
from scope.errors import ScopeError, UsageError
from scope.lab.active import active
from scope.launch.cluster import probe_cluster
from scope.launch.site import site_of
from scope.models.published import (
    broadcasts,
    efficiencies,
    files,
    growth,
    judgement,
    linpack,
    messages,
    phases,
    products,
    rates,
    times,
)
from scope.models.published.judgement import Observed
from scope.models.published.place import Scale
from scope.models.published.reference import Reference, load
from scope.models.published.reproduction import Known, Row
from scope.models.published.reproduction import rows as reproduced
from scope.plan.experiment import COMMAND_LINE, resolve
from scope.plan.placement import Placement
from scope.settings.experiment import Experiment
from scope.topology.estimate import LIBRARY, LIMIT, estimate
from scope.topology.topology import read as read_topology

LONGEST_CASE_S = 600.0
"""In a lab one repetition may take half a minute."""
LONGEST_FULL_CASE_S = 6 * 3600.0
"""Over an emulated WAN one repetition of a published size takes minutes (a broadcast) to hours (a product)."""


@dataclass(frozen=True)
class ReproduceOptions:
    """Options of `scope reproduce`."""

    name: str
    full: bool = False
    """At the published sizes, however long they take."""
    launches: int | None = None
    budget_s: float = 0.2
    given: Mapping[str, Any] = field(default_factory=dict)
    """Settings of an experiment by their keys: MPI, hosts, storage."""
    output: Path | None = None
    run: Path | None = None
    """Take the figures of this run and measure nothing."""
    resume: Path | None = None
    """Measure what is missing in this folder."""


@dataclass(frozen=True)
class Reproduced:
    """A published experiment beside ours."""

    reference: Reference
    rows: list[Row]
    folder: Path


def lab_of(options: ReproduceOptions) -> str | None:
    """Return the lab in which this command must run; None where it can run here."""
    reference = load(options.name)
    elsewhere = reference.study is not None or reference.place
    outside = options.run is None and not elsewhere and active() is None
    return reference.lab if outside else None


def reproduce(
    options: ReproduceOptions, progress: RunProgress = silent, command: Sequence[str] = ()
) -> Reproduced:
    """Run a published experiment, unless a run is given, and return its figures beside the published ones."""
    reference = load(options.name)
    folder = options.run
    if folder is None:
        folder = _measured(reference, options, progress, command)
    return Reproduced(reference, _rows(reference, folder, options.full), folder)


def _measured(
    reference: Reference, options: ReproduceOptions, progress: RunProgress, command: Sequence[str]
) -> Path:
    """Run the experiment like any other, or what it lacks, and return its run directory."""
    if reference.study is not None:
        return published_study.run(
            reference.study,
            options.name,
            options.full,
            options.launches,
            options.given.get("mpi"),
            options.output,
            options.resume,
        )
    if reference.place:
        return _measured_places(reference, options)
    if options.resume is not None:
        outcome = resume(options.resume, progress=progress)
    else:
        directory = new_directory(options.name, options.output)
        make_latest(directory)
        experiment = _experiment(reference.scale(options.full), options, reference.hosts)
        where = f"reference/{options.name}.toml"
        limit_s = LONGEST_FULL_CASE_S if options.full else LONGEST_CASE_S if reference.lab else None
        outcome = run(replace(experiment, limit_s=limit_s), where, directory.path, command, progress)
    path = outcome.directory.path
    if not outcome.well:
        raise ScopeError(f"{path}: a case failed, or its data were wrong; see the findings of the run")
    return path


def _measured_places(reference: Reference, options: ReproduceOptions) -> Path:
    """Run the experiment at each of its places and return the folder of the runs."""
    folder = options.resume or new_directory(options.name, options.output).path
    experiments = {
        place.name: _experiment(place.scale(options.full), options, [], here=place.lab is None)
        for place in reference.place
    }
    published_places.run(reference.place, experiments, folder)
    return folder


def _experiment(scale: Scale, options: ReproduceOptions, hosts: Sequence[str], here: bool = True) -> Experiment:
    """Return the experiment of a scale; `here`: without the cases that these hosts have no room for."""
    keys = {
        "name": options.name,
        "launches": scale.launches if options.launches is None else options.launches,
        "sampling.budget_s": options.budget_s,
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
    """Return the cases without those on a fixed number of ranks that is more than `room`."""

    def fits(text: str) -> bool:
        word = next(word for word in text.split() if word.startswith("ranks=")).removeprefix("ranks=")
        return room is None or not word.isdigit() or int(word) <= room

    return [text for text in scale.cases if fits(text)]


def _rows(reference: Reference, folder: Path, full: bool) -> list[Row]:
    """Return the published figures beside those of a run, and what the source says of them."""
    if reference.place:
        places = published_places.observed(reference.place, folder)
        known = judgement.Known(reference.reading, places, {}, published_places.absent(folder))
        return judgement.rows(reference.statement, known)
    tables = _tables(reference, folder, full)
    if not reference.statement:
        return tables
    observed = {} if reference.study else {"": _observed(reference, Run(folder))}
    words = judgement.by_words(tables, reference.statement)
    known = judgement.Known(reference.reading, observed, words, {})
    return tables + judgement.rows(reference.statement, known)


def _observed(reference: Reference, run: Run) -> Observed:
    return Observed(run.measurements, list(run.models.fits), reference.link_bits_per_s or None)


def _tables(reference: Reference, folder: Path, full: bool) -> list[Row]:
    """Return the figures of the published tables beside those of a run."""
    if reference.study is not None:
        return published_study.rows(reference, folder)
    run = Run(folder)
    summaries = list(run.statistics)
    if reference.broadcast:
        return _broadcasts(reference, run)
    if reference.product:
        return _products(reference, run, full)
    if reference.growth:
        return growth.rows(reference, run.models.fits, summaries[0].origin)
    if reference.message:
        return messages.rows(reference, run.measurements)
    if reference.rate or reference.efficiency:
        return rates.rows(reference, summaries) + efficiencies.rows(reference, summaries)
    if reference.share:
        return times.rows(reference, summaries)
    if reference.phase:
        return phases.rows(reference, summaries)
    if reference.file:
        return files.rows(reference, summaries)
    if reference.linpack:
        return linpack.rows(reference, summaries)
    return reproduced(reference, Known(run.measurements, run.models.speedups, reference.scale(full).sizes))


def _broadcasts(reference: Reference, run: Run) -> list[Row]:
    """Return published broadcasts beside those of a run and beside the limits of its topology."""
    found = broadcasts.measured(list(run.statistics))
    topology = run.directory.topology
    if not found or run.machine.build is None or not topology.is_file():
        raise UsageError(f"{run.path}: must be a run of mpi.broadcast on several hosts, with its topology.toml")
    largest = next(iter(found.values()))
    launch = next(one for one in run.raw_samples.launches if one.ranks == largest.ranks)
    hosts = [process.host for process in sorted(launch.processes, key=lambda process: process.rank)]
    size = int(largest.parameters["message_bytes"])
    estimator = collectives.build(run.machine.build.mpi).estimator
    estimates = estimate(estimator, topology, "broadcast", size, hosts)
    by_transport = {f"collectives.broadcast.{name}": one.seconds for name, one in estimates.items()}
    by_transport["default"] = estimates[LIBRARY].seconds
    known = broadcasts.Broadcasts(
        ranks=largest.ranks,
        message_bytes=size,
        origin=largest.origin,
        measured_s={transport: one.median for transport, one in found.items() if one.median is not None},
        estimated_s=by_transport,
        limit_s=estimates[LIMIT].seconds,
    )
    return broadcasts.rows(reference, known)


def _products(reference: Reference, run: Run, full: bool) -> list[Row]:
    """Return published matrix products beside those of a run, with the bytes that crossed each trunk."""
    topology = run.directory.topology
    if not topology.is_file():
        raise UsageError(f"{run.path}: must be a run on several groups of hosts, with its topology.toml")
    found = products.measured(list(run.statistics), run.raw_samples, read_topology(topology))
    return products.rows(reference, reference.scale(full).sizes, found)
