"""The fastest way to write or read files: all ways are predicted, a few measured, and a record is kept."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, get_args

from scope import units
from scope.build import registry
from scope.catalog.catalog import read as read_catalog
from scope.engine import analysis, begun_run
from scope.engine.directories import make_latest, new_directory
from scope.engine.measurement import Setup, measure
from scope.engine.options import COMMAND_LINE, LauncherOptions, launcher_keys
from scope.engine.progress import RunProgress, silent
from scope.engine.run import Settled, settle
from scope.errors import UsageError
from scope.launch.supervision.supervisor import Limits
from scope.plan import experiment as asking
from scope.plan import plan as planning
from scope.plan.experiment import Experiment, Selection, resolve
from scope.plan.placement import Placement
from scope.plan.plan import Plan
from scope.report.terminal import storage_tuning
from scope.report.terminal.console import console
from scope.rundirectory import FORMAT, RunDirectory, write_json, write_text
from scope.samples.reader import read
from scope.statistics.summarise import summarise
from scope.tune.storage.candidates import BENCHMARKS, Candidate, Direction
from scope.tune.storage.record import FILE, Settings, StorageTuning
from scope.tune.storage.search import Measured, concluded, first_cases, predicted

NAME = "tune-storage"
RATE = "bandwidth_bytes_per_s"
LONGEST_CASE_S = 600.0
"""A slow file system may need minutes for all data."""
BUDGET_S = 0.5
"""A transfer of all data that takes longer is timed once in each launch, after a warm-up."""


@dataclass(frozen=True)
class StorageTuneOptions:
    """Options of `scope tune storage`."""

    direction: str = "write"
    file_bytes: int = 16 << 20
    """Of each process."""
    ranks: Sequence[int] | None = None
    """Numbers of processes to choose from; None: powers of two up to all slots."""
    files: str | None = None
    """`shared` or `per_process`; None: either."""
    trials: int = 6
    launches: int = 6
    seed: int | None = None
    mpi: str | None = None
    launcher: LauncherOptions = field(default_factory=LauncherOptions)


@dataclass(frozen=True)
class StorageTuned:
    """A finished search."""

    directory: RunDirectory
    tuning: StorageTuning
    well: bool
    """Whether every case is well."""


def tune(
    options: StorageTuneOptions,
    output: Path | None = None,
    progress: RunProgress = silent,
    command: Sequence[str] = (),
) -> StorageTuned:
    """Measure what the predictions need, then the ways that are predicted to be the fastest.

    Raises UsageError for an option that is not allowed, ScopeError where nothing can be measured.
    """
    _check(options)
    given = {"name": NAME, "module": "advanced", "mpi": options.mpi, "seed": options.seed}
    settled = settle(resolve(None, {**given, **launcher_keys(options.launcher)}), COMMAND_LINE)
    room = settled.cluster.place.room(Placement(settled.experiment.launcher.binding))
    asked = Settings(
        direction="write" if options.direction == "write" else "read",
        storage=options.launcher.storage or "",
        file_bytes=options.file_bytes,
        ranks=sorted(set(options.ranks or _powers(room))),
        files=[options.files] if options.files else ["shared", "per_process"],
        trials=options.trials,
        launches=options.launches,
    )
    if asked.ranks[-1] > room:
        _refuse("ranks", asked.ranks[-1], f"from 1 to {room}, the slots here (--oversubscribe allows more)")
    catalog = registry.load(settled.build.program)
    experiment = _experiment(settled.experiment, asked, first_cases(asked))
    plan = planning.make(experiment, catalog, settled.cluster.place, COMMAND_LINE)
    directory = new_directory(NAME, output)
    make_latest(directory)
    begun_run.begin(directory, experiment, settled.machine, catalog, plan, command)
    tuning = StorageTuning(format=FORMAT, settings=asked)
    write_json(directory.path / FILE, tuning)
    return _searched(directory, tuning, plan, settled, progress)


def _searched(
    directory: RunDirectory, tuning: StorageTuning, plan: Plan, settled: Settled, progress: RunProgress
) -> StorageTuned:
    from scope.report.run import page

    experiment = begun_run.read(directory).experiment
    limits, margin_s = Limits(case_s=LONGEST_CASE_S), experiment.launcher.time_margin_s
    setup = Setup(settled.build, settled.cluster, limits, margin_s, progress)
    well = measure(directory, plan, setup)
    tuning = predicted(tuning, _measured(directory, tuning, first_cases(tuning.settings)))
    write_json(directory.path / FILE, tuning)
    tried = [trial.candidate for trial in tuning.trials]
    fresh = [trial.candidate for trial in tuning.trials if trial.predicted_bytes_per_s is not None]
    if fresh:
        further = _experiment(experiment, tuning.settings, fresh).model_copy(update={"seed": plan.seed + 1})
        catalog = read_catalog(directory.benchmarks)
        launches = planning.make(further, catalog, settled.cluster.place, str(directory.path / FILE)).launches
        plan = planning.extended(plan, launches)
        write_text(directory.plan, planning.write(plan))
        well = measure(directory, plan, setup)
    tuning = concluded(tuning, _measured(directory, tuning, tried))
    write_json(directory.path / FILE, tuning)
    analysis.analyze(directory.path)
    _write_best(directory, tuning, experiment)
    page.write(directory.path)
    return StorageTuned(directory, tuning, well)


def _experiment(experiment: Experiment, asked: Settings, candidates: Sequence[Candidate]) -> Experiment:
    cases = [Selection.model_validate(_case(one, asked)) for one in candidates]
    sampling = experiment.sampling.model_copy(update={"budget_s": BUDGET_S, "synchronization": "dissemination"})
    return experiment.model_copy(update={"case": cases, "launches": asked.launches, "sampling": sampling})


def _case(candidate: Candidate, asked: Settings) -> dict[str, Any]:
    settings = candidate.settings(asked.file_bytes)
    return {"benchmark": BENCHMARKS[asked.direction], "ranks": candidate.ranks, **settings}


def _measured(directory: RunDirectory, tuning: StorageTuning, candidates: Sequence[Candidate]) -> Measured:
    """Return the bandwidths of candidates from the samples so far."""
    catalog = read_catalog(directory.benchmarks)
    benchmark = BENCHMARKS[tuning.settings.direction]
    found: dict[Candidate, Any] = {}
    summaries = [
        one
        for one in summarise(read(directory.path, catalog), catalog)
        if one.benchmark == benchmark and one.metric == RATE and one.primary
    ]
    for candidate in candidates:
        wanted = {**catalog.defaults(benchmark), **candidate.settings(tuning.settings.file_bytes)}
        for one in summaries:
            if one.ranks == candidate.ranks and one.parameters == wanted:
                found[candidate] = one
    return found


def _write_best(directory: RunDirectory, tuning: StorageTuning, experiment: Experiment) -> None:
    """Write the chosen way as an experiment, and the record as text."""
    assert tuning.conclusion is not None
    best = _experiment(experiment, tuning.settings, [tuning.conclusion.chosen])
    write_text(directory.path / "best.toml", asking.write(best.model_copy(update={"name": "files"})))
    text = io.StringIO()
    console(text).print(storage_tuning.page(tuning))
    write_text(directory.path / "tuning.txt", text.getvalue())


def _powers(room: int) -> list[int]:
    return sorted({room, *(1 << exponent for exponent in range(room.bit_length()) if 1 << exponent <= room)})


def _check(options: StorageTuneOptions) -> None:
    if options.direction not in get_args(Direction):
        _refuse("direction", options.direction, "write or read")
    if options.files not in (None, "shared", "per_process"):
        _refuse("file", options.files, "shared or per_process")
    if not 1 << 16 <= options.file_bytes <= 1 << 44:
        _refuse("file-bytes", options.file_bytes, f"from {units.size(1 << 16)} to {units.size(1 << 44)}")
    for option, value, most in (("trials", options.trials, 1000), ("launches", options.launches, 1000)):
        if not 1 <= value <= most:
            _refuse(option, value, f"from 1 to {most}")
    if options.ranks is not None and not all(1 <= count <= 1_000_000 for count in options.ranks):
        _refuse("ranks", ",".join(map(str, options.ranks)), "numbers from 1 to 1000000, such as 1,2,4")


def _refuse(option: str, value: object, allowed: str) -> NoReturn:
    raise UsageError(f"--{option} {value}: must be {allowed}")
