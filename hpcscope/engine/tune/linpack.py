"""LINPACK tuned: the times of all settings are predicted, a few settings are measured, and a record is kept."""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hpcscope.build import installations, native, registry
from hpcscope.catalog.catalog import read as read_catalog
from hpcscope.engine import analysis
from hpcscope.engine.directories import make_latest, new_directory
from hpcscope.engine.progress import RunProgress, silent
from hpcscope.engine.run import begun_run
from hpcscope.engine.run.measurement import Setup, measure
from hpcscope.engine.run.run import settle
from hpcscope.findings.results import Run
from hpcscope.launch.cluster import Cluster, probe_cluster
from hpcscope.launch.site import site_of
from hpcscope.launch.supervision.supervisor import Limits
from hpcscope.machine.machine import NativeBuild
from hpcscope.models.computation.linpack_rates import LinpackRates
from hpcscope.plan import experiment as asking
from hpcscope.plan import hpl
from hpcscope.plan import plan as planning
from hpcscope.plan.experiment import COMMAND_LINE, resolve
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import Plan
from hpcscope.report.terminal import tuning as tables
from hpcscope.report.terminal.console import console
from hpcscope.rundirectory import FORMAT, RunDirectory, read_json, write_json, write_text
from hpcscope.settings.searches import LinpackSearch
from hpcscope.settings.selection import selected
from hpcscope.statistics.summarise import summarise
from hpcscope.tune import calibration
from hpcscope.tune.candidates import BENCHMARK, BLOCKS
from hpcscope.tune.memory import of_hosts
from hpcscope.tune.record import FILE, LinpackSearchSettings, Tuning
from hpcscope.tune.search import SearchState, advanced

NAME = "tune-linpack"
TRIAL_BUDGET_S = 0.2
"""A shorter trial is repeated for this long in each launch; a longer one is timed once, after a warm-up."""
LONGEST_OVER_PREDICTION = 20
"""A trial is ended after this multiple of its predicted time, plus a minute."""


@dataclass(frozen=True)
class Tuned:
    """A finished search."""

    directory: RunDirectory
    tuning: Tuning
    well: bool
    """Whether every case is well."""

    @property
    def rates(self) -> LinpackRates | None:
        """The rates of LINPACK; None without a valid case."""
        return Run(self.directory.path).models.linpack


def tune(
    search: LinpackSearch,
    given: Mapping[str, Any],
    output: Path | None = None,
    progress: RunProgress = silent,
    command: Sequence[str] = (),
) -> Tuned:
    """Measure what the predictions need, then measure settings round by round until the search is concluded.

    `given`: settings of the experiment by their keys, such as `launcher.hosts`.
    """
    settled = settle(resolve(None, {"name": NAME, "module": "advanced", **given}), COMMAND_LINE)
    experiment, cluster = settled.experiment, settled.cluster
    catalog = registry.load(settled.build.program)
    place = cluster.place
    asked = LinpackSearchSettings(
        ranks=search.ranks or place.room(Placement(experiment.launcher.binding)),
        n=search.n,
        memory_fraction=search.memory_fraction,
        seconds=None if search.solution_s == math.inf else search.solution_s,
        blocks=sorted(set(search.blocks or BLOCKS)),
        tries=search.trials,
        launches=search.launches,
    )
    cases = calibration.cases(asked.ranks, asked.blocks, len(place.slots))
    # Solutions take milliseconds or more: a barrier is precise enough, and no trial misses a start window.
    sampling = replace(experiment.sampling, budget_s=calibration.BUDGET_S, synchronization="dissemination")
    first = replace(experiment, case=selected(cases), launches=calibration.LAUNCHES, sampling=sampling)
    plan = planning.make(first, catalog, place, COMMAND_LINE)
    directory = new_directory(NAME, output)
    begun_run.begin(directory, first, settled.machine, catalog, plan, command)
    tuning = Tuning(format=FORMAT, settings=asked)
    write_json(directory.path / FILE, tuning)
    return _search(directory, tuning, settled.build, cluster, progress)


def resume(folder: Path, progress: RunProgress = silent) -> Tuned:
    """Resume a search; recorded cases are not run again, and a finished search is returned as it is."""
    directory = Run(folder.resolve()).directory
    tuning = read_json(directory.path / FILE, Tuning)
    if tuning.conclusion is not None:
        return Tuned(directory, tuning, True)
    begun = begun_run.read(directory)
    mpi = installations.find(begun.compiler(directory))
    site = site_of(mpi, begun.experiment.launcher, str(directory.experiment))
    build = native.build(mpi)
    cluster = probe_cluster(site)
    begun_run.refuse_changes(directory, begun.machine, build, cluster.hosts)
    return _search(directory, tuning, build, cluster, progress)


def _search(
    directory: RunDirectory, tuning: Tuning, build: NativeBuild, cluster: Cluster, progress: RunProgress
) -> Tuned:
    """Measure round after round until the search is concluded; the record is written before each."""
    from hpcscope.report.run import page

    begun = begun_run.read(directory)
    plan, margin_s = begun.plan, begun.experiment.launcher.time_margin_s
    well = True
    while tuning.conclusion is None:
        if tuning.rounds:
            plan = _with_round(directory, plan, tuning, cluster)
            write_text(directory.plan, planning.write(plan))
        trials = tuning.rounds[-1].tries if tuning.rounds else []
        longest_s = max((trial.predicted_s for trial in trials), default=0.0)
        limits = Limits(case_s=60 + LONGEST_OVER_PREDICTION * longest_s)
        well = measure(directory, plan, Setup(build, cluster, limits, margin_s, progress))
        tuning = advanced(tuning, _evidence(directory, tuning, cluster))
        write_json(directory.path / FILE, tuning)
    run = analysis.analyze(directory.path)
    tuned = Tuned(directory, tuning, well)
    _write_best(tuned)
    page.write(run)
    make_latest(directory)
    return tuned


def _with_round(directory: RunDirectory, plan: Plan, tuning: Tuning, cluster: Cluster) -> Plan:
    """Return the plan with the launches of the last round."""
    asked = begun_run.read(directory).experiment
    trials = tuning.rounds[-1].tries
    cases = [{"benchmark": BENCHMARK, "ranks": tuning.settings.ranks, **t.candidate.settings(t.n)} for t in trials]
    further = replace(
        asked,
        case=selected(cases),
        launches=tuning.settings.launches,
        seed=plan.seed + len(tuning.rounds),
        sampling=replace(asked.sampling, budget_s=TRIAL_BUDGET_S),
    )
    catalog = read_catalog(directory.benchmarks)
    launches = planning.make(further, catalog, cluster.place, str(directory.path / FILE)).launches
    return planning.extended(plan, launches)


def _evidence(directory: RunDirectory, tuning: Tuning, cluster: Cluster) -> SearchState:
    """Return the summaries of the samples so far."""
    run = Run(directory.path)
    run = run.replaced(statistics=summarise(run.raw_samples, run.benchmarks))
    slots = cluster.place.slots
    costs = calibration.costs(run.measurements, tuning.settings.ranks, min(slots))
    return SearchState(list(run.statistics), costs, of_hosts(run.machine.hosts, slots, tuning.settings.ranks))


def _write_best(tuned: Tuned) -> None:
    """Write the best settings as an experiment and as an HPL.dat, and the record as text."""
    directory, tuning = tuned.directory, tuned.tuning
    assert tuning.conclusion is not None
    case = tuning.conclusion.chosen.settings(tuning.conclusion.n)
    asked = begun_run.read(directory).experiment
    best = replace(
        asked,
        case=selected([{"benchmark": BENCHMARK, "ranks": tuning.settings.ranks, **case}]),
        launches=tuning.settings.launches,
        name="linpack",
        sampling=replace(asked.sampling, budget_s=TRIAL_BUDGET_S),
    )
    write_text(directory.path / "best.toml", asking.write(best))
    title = f"chosen by scope tune linpack: {tuning.conclusion.chosen.label}"
    write_text(directory.path / "HPL.dat", hpl.written(case, title))
    text = io.StringIO()
    console(text).print(tables.page(tuning, tuned.rates))
    write_text(directory.path / "tuning.txt", text.getvalue())
