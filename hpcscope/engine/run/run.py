"""A run from its options to its report: settle, probe, plan, measure, refine, analyze."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from hpcscope.build import installations, native
from hpcscope.engine import catalogs
from hpcscope.engine.builds import with_architectures
from hpcscope.engine.directories import make_latest, new_directory
from hpcscope.engine.progress import RunProgress, silent
from hpcscope.engine.run import begun_run
from hpcscope.engine.run.measurement import Setup, measure
from hpcscope.engine.run.sampled_pairs import foretold
from hpcscope.errors import OutOfTimeError
from hpcscope.lab.active import active
from hpcscope.launch import active_messages
from hpcscope.launch.cluster import Cluster, probe_cluster
from hpcscope.launch.site import site_of, with_storage
from hpcscope.launch.supervision.supervisor import Limits
from hpcscope.machine import discover, minimum_configuration
from hpcscope.machine.machine import Host, Machine, MpiInstallation, NativeBuild
from hpcscope.machine.storage import storage_folder
from hpcscope.plan import plan as planning
from hpcscope.plan.experiment import COMMAND_LINE
from hpcscope.plan.plan import Plan
from hpcscope.plan.refine import ROUNDS, Suspect, refined
from hpcscope.rundirectory import RunDirectory, read_text, write_text
from hpcscope.settings.experiment import Experiment
from hpcscope.topology import preloading

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended."""

    directory: RunDirectory
    well: bool
    """Whether every case is well."""


@dataclass(frozen=True)
class Located:
    """An experiment adapted to this machine, with its MPI and its hosts; nothing is compiled yet."""

    experiment: Experiment
    mpi: MpiInstallation
    cluster: Cluster
    hosts: list[Host]

    def machine(self, build: NativeBuild | None) -> Machine:
        """Return the machine record of these hosts with a native program."""
        lab = active()
        return discover.machine(self.hosts, build, lab.facts() if lab else None, self.cluster.site.interface)


@dataclass(frozen=True)
class Settled:
    """An experiment adapted to this machine, with the native program and the hosts it needs."""

    experiment: Experiment
    build: NativeBuild
    cluster: Cluster
    machine: Machine


def run(
    experiment: Experiment,
    where: str = COMMAND_LINE,
    output: Path | None = None,
    command: Sequence[str] = (),
    progress: RunProgress = silent,
    within_s: float | None = None,
) -> RunOutcome:
    """Measure an experiment, derive everything and draw the report.

    `where` names the experiment's file in messages; `command` is kept with the run. `within_s`: measure no longer
    than this, and explain what was measured by then.
    """
    settled = settle(experiment, where)
    cluster = settled.cluster
    catalog = catalogs.of_program(settled.build)
    plan = planning.make(settled.experiment, catalog, cluster.place, where)
    preloading.check(plan.launches, cluster)
    active_messages.check({launch.transport for launch in plan.launches}, cluster.site)
    for line in foretold(plan, catalog, cluster.site.topology):
        logger.info(line)
    directory = new_directory(experiment.title, output)
    # A module needs a minimum configuration; chosen cases do not.
    slots = sum(cluster.place.slots)
    lacks = [] if settled.experiment.case else minimum_configuration.lacks(settled.machine.hosts, slots)
    machine = _with_storage(settled.machine, cluster, directory, plan)
    begun_run.begin(directory, settled.experiment, machine, catalog, plan, command, lacks)
    if cluster.site.topology is not None:
        write_text(directory.topology, read_text(cluster.site.topology))
    setup = _setup(experiment, settled.build, cluster, progress)
    return _measured(directory, settled.experiment, plan, replace(setup, within_s=within_s))


def _with_storage(machine: Machine, cluster: Cluster, directory: RunDirectory, plan: Plan) -> Machine:
    """Return the machine with the folder in which a plan measures storage, if it does."""
    planned = {case.benchmark for launch in plan.launches for case in launch.cases}
    if not any(name.startswith("storage.") for name in planned):
        return machine
    place = with_storage(cluster.site, directory.path.parent).storage
    assert place is not None
    return machine.model_copy(update={"storage": storage_folder(Path(place.folder))})


def resume(folder: Path, limit_s: float | None = None, progress: RunProgress = silent) -> RunOutcome:
    """Run the cases of an interrupted run that have no record, then derive everything and draw the report.

    `limit_s`: end cases after this time instead of the experiment's limit.
    """
    directory = RunDirectory(folder.resolve())
    begun = begun_run.read(directory)
    mpi = installations.find(begun.compiler(directory))
    site = site_of(mpi, begun.experiment.launcher, str(directory.experiment))
    build = native.build(mpi, catalogs.part_of(begun.plan))
    cluster, _ = with_architectures(probe_cluster(site), build)
    begun_run.refuse_changes(directory, begun.machine, build, cluster.hosts)
    preloading.check(begun.plan.launches, cluster)
    active_messages.check({launch.transport for launch in begun.plan.launches}, cluster.site)
    experiment = replace(begun.experiment, limit_s=limit_s or begun.experiment.limit_s)
    return _measured(directory, experiment, begun.plan, _setup(experiment, build, cluster, progress))


def _setup(experiment: Experiment, build: NativeBuild, cluster: Cluster, progress: RunProgress) -> Setup:
    limits = Limits(case_s=experiment.limit_s)
    return Setup(build, cluster, limits, experiment.launcher.time_margin_s, progress)


def locate(experiment: Experiment, where: str, mpi: MpiInstallation | None = None) -> Located:
    """Return the experiment adapted to this machine, with its hosts and with `mpi`, else the MPI it asks for."""
    mpi = mpi or installations.find(experiment.mpi)
    lab = active()
    if lab is not None:
        experiment = _for_lab(experiment)
    cluster = probe_cluster(site_of(mpi, experiment.launcher, where))
    hosts = [lab.with_declared_links(host) for host in cluster.hosts] if lab else cluster.hosts
    return Located(experiment, mpi, cluster, hosts)


def settle(experiment: Experiment, where: str) -> Settled:
    """Return the experiment adapted to this machine, with its native program and its hosts."""
    mpi = installations.find(experiment.mpi)
    with ThreadPoolExecutor(1) as pool:  # the hosts and the program are queried at the same time
        whole = pool.submit(native.kept, mpi)
        located = locate(experiment, where, mpi)
    build = whole.result()
    if build is None:
        build = native.build(mpi, catalogs.part_for(located.experiment, located.cluster.place, where))
    cluster, others = with_architectures(located.cluster, build)
    machine = located.machine(build).model_copy(update={"further_builds": others})
    return Settled(located.experiment, build, cluster, machine)


def _all_measured(directory: RunDirectory, experiment: Experiment, plan: Plan, setup: Setup) -> bool:
    """Measure a plan and, if the experiment asks for it, its refinement."""
    further = experiment.launches is None
    well = measure(directory, plan, setup, further, planning.total_s(experiment))
    if experiment.refine:
        plan = planning.read(directory.plan) if further else plan
        for _ in range(ROUNDS):
            plan = _with_refined_sizes(directory, plan, experiment)
            well = measure(directory, plan, setup)
    return well


def _measured(directory: RunDirectory, experiment: Experiment, plan: Plan, setup: Setup) -> RunOutcome:
    """Measure a plan and analyze it; if time ran out, explain what was measured by then."""
    try:
        well = _all_measured(directory, experiment, plan, setup)
    except OutOfTimeError as error:
        if setup.within_s is None or not directory.samples.is_file():
            raise
        logger.info("%s: `scope run --resume %s` measures the remaining cases", error, directory.path)
        well = True
    if not well:
        from hpcscope.engine.run.wrong_data import show_again

        show_again(directory, setup)
    from hpcscope.engine import analysis

    analysis.explain(directory.path)
    make_latest(directory)
    return RunOutcome(directory, well)


def _for_lab(experiment: Experiment) -> Experiment:
    """Return the experiment adapted to the hosts of a lab, which share processors.

    Ranks are not bound and synchronize by messages: some would always miss an agreed start time.
    """
    sampling = experiment.sampling
    return replace(
        experiment,
        launcher=replace(experiment.launcher, binding="none"),
        sampling=replace(sampling, synchronization=sampling.synchronization or "dissemination"),
    )


def _with_refined_sizes(directory: RunDirectory, plan: Plan, experiment: Experiment) -> Plan:
    """Return the plan with further message sizes where the curves so far may have a break, and write it."""
    from hpcscope.engine import analysis
    from hpcscope.models.communication.piecewise_hockney import suspects
    from hpcscope.models.fitting.curve import curves

    known = analysis.analyze(directory.path)
    suspected = [
        Suspect(
            curve.subject.benchmark,
            tuple((k, v) for k, v in curve.subject.parameters.items() if isinstance(v, int | str)),
            curve.subject.batch,
            tuple(map(int, curve.message_bytes)),
            tuple(suspects(curve)),
        )
        for curve in curves(known.statistics, known.benchmarks)
        if curve.variable == "message_bytes"
    ]
    plan = refined(plan, suspected, planning.launches_of(experiment))
    write_text(directory.plan, planning.write(plan))
    return plan
