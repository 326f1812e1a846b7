"""The fastest way to write or read files: all ways are predicted, a few measured, and a record is kept."""

import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hpcscope.build import registry
from hpcscope.catalog.catalog import read as read_catalog
from hpcscope.engine import analysis
from hpcscope.engine.directories import make_latest, new_directory
from hpcscope.engine.progress import RunProgress, silent
from hpcscope.engine.run import begun_run
from hpcscope.engine.run.measurement import Setup, measure
from hpcscope.engine.run.run import Settled, settle
from hpcscope.errors import UsageError
from hpcscope.launch.supervision.supervisor import Limits
from hpcscope.plan import experiment as asking
from hpcscope.plan import plan as planning
from hpcscope.plan.experiment import COMMAND_LINE, resolve
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import Plan
from hpcscope.report.terminal import storage_tuning
from hpcscope.report.terminal.console import console
from hpcscope.rundirectory import FORMAT, RunDirectory, write_json, write_text
from hpcscope.samples.reader import read
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.searches import StorageSearch
from hpcscope.settings.selection import selected
from hpcscope.statistics.summarise import summarise
from hpcscope.tune.storage.candidates import BENCHMARKS, FileAccess
from hpcscope.tune.storage.record import FILE, StorageSearchSettings, StorageTuning
from hpcscope.tune.storage.search import Measured, concluded, first_cases, predicted, trials_in_time

NAME = "tune-storage"
RATE = "bandwidth_bytes_per_s"
LONGEST_CASE_S = 600.0
"""Time limit of a case: a slow file system may need minutes for all data."""
BUDGET_S = 0.5
"""Time budget of a case; a transfer of all data that takes longer is timed once per launch, after a warm-up."""


@dataclass(frozen=True)
class StorageTuned:
    """A finished search."""

    directory: RunDirectory
    tuning: StorageTuning
    well: bool
    """Whether every case is well."""


def tune(
    search: StorageSearch,
    given: Mapping[str, Any],
    output: Path | None = None,
    progress: RunProgress = silent,
    command: Sequence[str] = (),
) -> StorageTuned:
    """Measure what the predictions need, then the ways that are predicted to be the fastest.

    `given`: settings of the experiment by their keys, such as `launcher.storage`. Raises UsageError for an option
    that is not allowed, ScopeError if nothing can be measured.
    """
    settled = settle(resolve(None, {"name": NAME, "module": "advanced", **given}), COMMAND_LINE)
    room = settled.cluster.place.room(Placement(settled.experiment.launcher.binding))
    asked = StorageSearchSettings(
        direction=search.direction,
        storage=given.get("launcher.storage", ""),
        file_bytes=search.file_bytes,
        ranks=sorted(set(search.ranks or (room, *(1 << exponent for exponent in range(room.bit_length()))))),
        files=[search.file] if search.file else ["shared", "per_process"],
        trials=search.trials,
        time_s=search.time_s,
        launches=search.launches,
    )
    if asked.ranks[-1] > room and not settled.experiment.launcher.oversubscribe:
        raise UsageError(
            f"--ranks {asked.ranks[-1]}: must be from 1 to {room}, the slots here (--oversubscribe allows more)"
        )
    catalog = registry.load(settled.build.program)
    experiment = _experiment(settled.experiment, asked, first_cases(asked))
    plan = planning.make(experiment, catalog, settled.cluster.place, COMMAND_LINE)
    directory = new_directory(NAME, output)
    begun_run.begin(directory, experiment, settled.machine, catalog, plan, command)
    tuning = StorageTuning(format=FORMAT, settings=asked)
    write_json(directory.path / FILE, tuning)
    return _searched(directory, tuning, plan, settled, progress)


def _searched(
    directory: RunDirectory, tuning: StorageTuning, plan: Plan, settled: Settled, progress: RunProgress
) -> StorageTuned:
    from hpcscope.report.run import page

    experiment = begun_run.read(directory).experiment
    limits, margin_s = Limits(case_s=LONGEST_CASE_S), experiment.launcher.time_margin_s
    setup = Setup(settled.build, settled.cluster, limits, margin_s, progress)
    begun_s = time.monotonic()
    well = measure(directory, plan, setup)
    spent_s = time.monotonic() - begun_s
    tuning = predicted(tuning, _measured(directory, tuning, first_cases(tuning.settings)))
    write_json(directory.path / FILE, tuning)
    tried = [trial.candidate for trial in tuning.trials]
    fresh = [trial.candidate for trial in tuning.trials if trial.predicted_bytes_per_s is not None]
    fresh = fresh[: trials_in_time(tuning.settings, spent_s)]
    if fresh:
        further = replace(_experiment(experiment, tuning.settings, fresh), seed=plan.seed + 1)
        catalog = read_catalog(directory.benchmarks)
        launches = planning.make(further, catalog, settled.cluster.place, str(directory.path / FILE)).launches
        plan = planning.extended(plan, launches)
        write_text(directory.plan, planning.write(plan))
        well = measure(directory, plan, setup)
    tuning = concluded(tuning, _measured(directory, tuning, tried))
    write_json(directory.path / FILE, tuning)
    run = analysis.analyze(directory.path)
    _write_best(directory, tuning, experiment)
    page.write(run)
    make_latest(directory)
    return StorageTuned(directory, tuning, well)


def _experiment(
    experiment: Experiment, asked: StorageSearchSettings, candidates: Sequence[FileAccess]
) -> Experiment:
    benchmark = BENCHMARKS[asked.direction]
    cases = selected(
        {"benchmark": benchmark, "ranks": access.ranks, **access.settings(asked.file_bytes)}
        for access in candidates
    )
    sampling = replace(experiment.sampling, budget_s=BUDGET_S, synchronization="dissemination")
    return replace(experiment, case=cases, launches=asked.launches, sampling=sampling)


def _measured(directory: RunDirectory, tuning: StorageTuning, candidates: Sequence[FileAccess]) -> Measured:
    """Return the bandwidths of candidates from the samples so far."""
    catalog = read_catalog(directory.benchmarks)
    benchmark = BENCHMARKS[tuning.settings.direction]
    measured: dict[FileAccess, Any] = {}
    summaries = [
        case
        for case in summarise(read(directory.path, catalog), catalog)
        if case.benchmark == benchmark and case.metric == RATE and case.primary
    ]
    for candidate in candidates:
        wanted = {**catalog.defaults(benchmark), **candidate.settings(tuning.settings.file_bytes)}
        for summary in summaries:
            if summary.ranks == candidate.ranks and summary.parameters == wanted:
                measured[candidate] = summary
    return measured


def _write_best(directory: RunDirectory, tuning: StorageTuning, experiment: Experiment) -> None:
    """Write the chosen way as an experiment, and the record as text."""
    assert tuning.conclusion is not None
    best = _experiment(experiment, tuning.settings, [tuning.conclusion.chosen])
    write_text(directory.path / "best.toml", asking.write(replace(best, name="files")))
    text = io.StringIO()
    console(text).print(storage_tuning.page(tuning))
    write_text(directory.path / "tuning.txt", text.getvalue())
