"""A run simulated: its cases again on its own platform, then more ranks, more hosts or other links."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from hpcscope.build import installations, native, registry
from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.pattern import matches_any
from hpcscope.engine.analysis import analyze, explain
from hpcscope.engine.directories import make_latest, new_directory
from hpcscope.engine.progress import RunProgress, silent
from hpcscope.engine.run import begun_run
from hpcscope.engine.simulate import launches
from hpcscope.engine.simulate.request import Request, SimulateOptions, exchanges_short, takes_time_to_compute
from hpcscope.errors import ScopeError, UsageError
from hpcscope.findings.results import Run
from hpcscope.launch import preload
from hpcscope.machine.discover import this_host
from hpcscope.machine.machine import NativeBuild
from hpcscope.models.measurements import short_names
from hpcscope.plan.case import Batch
from hpcscope.plan.experiment import resolve
from hpcscope.plan.plan import Launch, Plan, PlannedCase
from hpcscope.private import temporary_folder
from hpcscope.rundirectory import FORMAT, RunDirectory, write_json, write_text
from hpcscope.settings.experiment import Experiment, Sampling
from hpcscope.simulation import description, library_rules
from hpcscope.simulation.calibration import NO_OVERHEAD, ONE_RATE, Calibration, calibrated
from hpcscope.simulation.changes import changed
from hpcscope.simulation.formulas import Formulas
from hpcscope.simulation.gains import gains
from hpcscope.simulation.platform import networked, platform
from hpcscope.simulation.record import ByFormula, ProgramTime, Simulation, beside, time_metric, times
from hpcscope.simulation.start import FEW_RANKS, SELECTORS, SHORT_BYTES, refuse_unfit, simulated_time_s
from hpcscope.statistics.summary import Summary, headlines
from hpcscope.topology import topology as topologies

SIMULATOR = "simgrid"
LEVELS = ("mpi", "operation", "algorithm", "application")
"""Levels whose messages are carried by MPI."""
REPETITIONS = 3
"""Repetitions of a case: simulated times hardly differ; on many ranks one repetition is enough."""
MESSAGES_AT_ONCE = frozenset({"MPI_Scan", "MPI_Exscan"})
"""In SMPI each rank sends to all higher ranks at once, and each completion searches through all these messages."""
MOST_AT_ONCE = 128
"""Most ranks for these routines; doubling the ranks makes a case take eight times as long."""
DEFAULT = "default"
"""The transport of the MPI library's own collectives."""
LOCAL = frozenset({"MPI_Reduce_local"})
"""Routines that send nothing."""
BUDGET_S = 5.0
"""Real time of a case, in seconds, after which no further repetition begins."""
SEED = 1


@dataclass(frozen=True)
class Simulated:
    """A simulated run, and the measured run that it is based on."""

    directory: RunDirectory
    record: Simulation
    summaries: list[Summary]
    """The simulated times, in the order of the cases."""
    left_out: list[str]
    """Cases without a result, on the measured platform or on the changed one, and why."""
    unchanged: list[Summary]
    """Results of the same cases on the platform as measured; empty if nothing was changed."""
    gains: dict[str, list[float]]
    """Gains by the change, for each benchmark."""
    sharing: list[str]
    """Cases whose ranks shared one piece of memory for lack of room."""
    well: bool


@dataclass(frozen=True)
class Prepared:
    """What is to be simulated on the measured platform and on the changed one; nothing has been simulated yet."""

    measured: list[Summary]
    request: Request
    asked: Request
    collectives: str
    changes: list[str]
    """The changes as they were requested."""


def simulate(run: Path, options: SimulateOptions, progress: RunProgress = silent) -> Simulated:
    """Simulate the cases of a run, validate the times against the measured ones, and derive everything.

    Raises UsageError for cases that the run did not measure and for a change that its platform cannot have.
    """
    return carried_out(prepared(run, options), progress)


def platforms(known: Run, options: SimulateOptions) -> tuple[Calibration, Calibration]:
    """Return the platform of a run as it was measured, and with the changes; nothing is compiled for that.

    Raises UsageError if the platform cannot have the changes.
    """
    given = known.directory.topology
    topology = topologies.read(given) if given.exists() else None
    made = platform(known.measurements, topology, nominal_speed=True)
    own = calibrated(made, known.measurements, known.models.fits)
    asked = changed(own.platform, options.changes, options.hosts)
    if options.topology is not None:
        asked = networked(asked, options.topology)
    return own, replace(own, platform=asked)


def prepared(run: Path, options: SimulateOptions) -> Prepared:
    """Return what is to be simulated; raises as `simulate` does."""
    known = Run(run)
    limits = options.limits
    if options.program is not None:
        refuse_unfit(options.program)
    collectives = _collectives(known, options.collectives)
    measured = _measured(known, options.only)
    own, other = platforms(known, options)
    build = native.build(installations.find(SIMULATOR))
    catalog = listed(build)
    if missing := sorted({case.benchmark for case in measured} - set(catalog.names)):
        raise UsageError(f"{run}: {missing[0]}: not a benchmark of this version of Scope")
    short = short_names(known.machine)
    request = Request(
        known=known,
        measured=own.platform,
        calibration=own,
        build=build,
        catalog=catalog,
        plan=_plan(measured, catalog, known, options.ranks),
        hosts_of={case.batch: list(map(short, known.measurements.hosts(case))) for case in measured},
        options=options,
        limits=limits,
        selector=SELECTORS[collectives],
        rules=library_rules.rules_of(collectives, known.machine.build.mpi if known.machine.build else None),
    )
    if not options.ranks_that_fit:
        _refuse_too_many(request, other)
    asked = replace(
        request, calibration=other, hosts_of={}, plan=_changed(request, other), own_cores=options.own_cores
    )
    if not asked.plan.launches:
        raise UsageError(
            f"{run}: has only topology-aware collectives, which do not work with --topology {options.topology}"
        )
    return Prepared(measured, request, asked, collectives, _words(options))


def carried_out(
    what: Prepared, progress: RunProgress = silent, name: str = "simulate", before: Simulated | None = None
) -> Simulated:
    """Simulate what was prepared, in the requested directory, else in one of this name below `runs/`.

    `before`: another change of the same run, prepared with the same options; its results on the platform as
    measured are reused.
    """
    measured, request, asked, changes = what.measured, what.request, what.asked, what.changes
    known, options, catalog, own = request.known, request.options, request.catalog, request.calibration
    directory = new_directory(name, options.output)
    first = RunDirectory(directory.unchanged) if changes else directory
    if before is None:
        first.path.mkdir(exist_ok=True)
        well, sharing = _simulated(first, replace(request, plan=_fitting(request)), progress)
    else:
        shutil.copytree(before.directory.unchanged, first.path)
        well, sharing = before.well, before.sharing
    formula = _formula(known, first)
    validation = beside(measured, Run(first.path).statistics, catalog, formula)
    record = Simulation(
        format=FORMAT,
        of=known.record.name,
        simulator=f"SimGrid {request.build.mpi.version}",
        collectives=what.collectives,
        changes=changes,
        only_larger=options.only_larger and (options.hosts or 0) > len(request.measured.nodes),
        cost=options.cost,
        inputs=own.inputs,
        notes=list(_notes(request, max(launch.ranks for launch in request.plan.launches))),
        validation=validation,
    )
    shown = {row.label for row in validation}
    further = [case for case in _times(first, catalog) if case.label not in shown]
    record = record.model_copy(update={"formulas": _by_formulas(further, formula)})
    write_json(first.simulation, record.model_copy(update={"changes": [], "only_larger": False}))
    unchanged: list[Summary] = []
    if changes:
        unchanged = _times(first, catalog)
        changed_well, sharing_too = _simulated(directory, asked, progress)
        well, sharing = well and changed_well, [*sharing, *sharing_too]
        # No formula covers other links or faster hosts.
        said = _by_formulas(_times(directory, catalog), _formula(known, directory)) if options.only_larger else {}
        record = record.model_copy(update={"formulas": said})
    if sharing:
        note = (
            "too little memory for separate buffers: all ranks used the same buffers, and no data were verified:"
            f" {'; '.join(sharing)}"
        )
        record = record.model_copy(update={"notes": [*record.notes, note]})
    too_many = _too_many_messages(measured, catalog, options.ranks)
    no_groups = chain(_without_groups(request, asked), _without_room(request, asked))
    left_out = list(dict.fromkeys(chain(_left_out(first), _left_out(directory), too_many, no_groups)))
    programs: list[ProgramTime] = []
    try:
        programs.extend(
            _program_times(directory, replace(request, calibration=asked.calibration, own_cores=asked.own_cores))
        )
    except ScopeError as error:  # from the user's own program: earlier simulations stay valid
        left_out.append(str(error))
        well = False
    record = record.model_copy(update={"programs": programs})
    write_json(directory.simulation, record)
    for fromkey in dict.fromkeys((first, directory)):
        explain(fromkey.path)
    make_latest(directory)
    cases = _times(directory, catalog)
    gained = gains(cases, unchanged, catalog, record.only_larger)
    return Simulated(directory, record, cases, left_out, unchanged, gained, sharing, well)


def _formula(known: Run, simulated: RunDirectory) -> Callable[[Summary], ByFormula | None]:
    """Return a function that gives a simulated case's time by the closed formulas of the known run."""
    formulas = Formulas(known.measurements, known.models.fits)
    placed = Run(simulated.path).measurements
    return lambda case: formulas.of(case, several_hosts=len(set(placed.hosts(case))) > 1)


def _by_formulas(cases: Iterable[Summary], formula: Callable[[Summary], ByFormula | None]) -> dict[str, ByFormula]:
    return {case.label: said for case in cases if (said := formula(case)) is not None}


def _program_times(directory: RunDirectory, request: Request) -> Iterator[ProgramTime]:
    """Yield the time of the user's own program on each number of ranks, or on as many ranks as the hosts take."""
    words = request.options.program
    if words is None:
        return
    hosts = request.hosts
    with temporary_folder("simulation") as scratch:
        for ranks in request.options.ranks or [len(hosts)]:
            memory_bytes = launches.memory(request)
            simulator = launches.simulated_cluster(directory, request, hosts, ranks, scratch, memory_bytes)
            hostfile = directory.launches / f"program-{ranks}.txt"
            time_s = simulated_time_s(words, ranks, simulator, hostfile, request.options.limit_s)
            yield ProgramTime(command=list(words), ranks=ranks, time_s=time_s)


def _words(options: SimulateOptions) -> list[str]:
    hosts = [f"--hosts {options.hosts}"] if options.hosts is not None else []
    network = [f"--topology {options.topology}"] if options.topology is not None else []
    own = ["--own-cores"] if options.own_cores else []
    return [*(f"--set {key}={value:g}" for key, value in options.changes.items()), *hosts, *network, *own]


def _refuse_too_many(request: Request, other: Calibration) -> None:
    """Raise UsageError if the requested platform takes fewer ranks than were requested."""
    room = len(replace(request, calibration=other).hosts)
    if too_many := [count for count in request.options.ranks if count > room]:
        hosts = len(other.platform.nodes)
        raise UsageError(
            f"--ranks {too_many[0]}: must be at most {room}, the ranks of {hosts} hosts; add hosts with --hosts"
        )


def _fitting(request: Request) -> Plan:
    """Return the part of the plan for which the platform as it was measured has room."""
    room = len(request.hosts)
    known = set(request.hosts_of)
    fits = (launch for launch in request.plan.launches if launch.batch in known or launch.ranks <= room)
    return replace(request.plan, launches=tuple(fits))


def _changed(request: Request, other: Calibration) -> Plan:
    """Return the part of the plan whose times may change on the changed platform: not equal ranks on more hosts.

    Topology-aware collectives only know networks of host groups and the links between them.
    """
    grouped = other.platform.topology is not None
    room = len(replace(request, calibration=other).hosts)
    fits = [launch for launch in request.plan.launches if launch.ranks <= room]
    able = [launch for launch in fits if grouped or launch.transport == DEFAULT]
    further = [launch for launch in able if launch.batch not in request.hosts_of]
    kept = further if request.options.only_larger and further else able
    return replace(request.plan, launches=tuple(replace(launch, number=n) for n, launch in enumerate(kept, 1)))


def _collectives(known: Run, asked: str | None) -> str:
    """Return the library whose choice of algorithms is simulated."""
    if asked is not None and asked not in SELECTORS:
        raise UsageError(f"--collectives {asked}: must be one of {', '.join(SELECTORS)}")
    used = known.machine.build.mpi.name if known.machine.build else ""
    return asked or (used if used in SELECTORS else "mpich")


def _measured(known: Run, only: Sequence[str]) -> list[Summary]:
    """Return the times of the cases whose messages MPI carries between several ranks, as the run measured them."""
    catalog = known.benchmarks
    cases = [
        case
        for case in headlines(list(known.statistics))
        if case.median
        and case.ranks > 1
        and case.transport.split(".")[0] in (DEFAULT, preload.TRANSPORT)
        and catalog[case.benchmark].level in LEVELS
        and case.metric == time_metric(case, catalog)
        and matches_any(case.benchmark, only)
        and not _calls(catalog, case.benchmark, LOCAL)
    ]
    if not cases:
        chosen = f" of {', '.join(only)}" if only else ""
        raise UsageError(
            f"{known.path}: has no result{chosen} on two or more ranks, so no simulation can be validated"
        )
    if {case.origin for case in cases} & {"simulated", "imported"}:
        raise UsageError(f"{known.path}: is {cases[0].origin}; must be a run that was measured, here or in a lab")
    return cases


def _calls(catalog: Catalog, benchmark: str, routines: frozenset[str]) -> bool:
    return any(routine.routine in routines for routine in catalog[benchmark].routines)


def listed(build: NativeBuild) -> Catalog:
    """Return the benchmarks of a program that is compiled for SMPI."""
    with temporary_folder("simulation") as private:
        folder = str(private)
        platform_file, hosts = Path(folder, "platform.xml"), Path(folder, "hosts")
        platform_file.write_text(
            f'{description.HEAD}<platform version="4.1"><zone id="all" routing="Full">'
            '<host id="here" speed="1Gf"/></zone></platform>\n'
        )
        hosts.write_text("here\n")
        where = ("-platform", str(platform_file), "-hostfile", str(hosts))
        start = ("env", f"TMPDIR={folder}", build.mpi.launcher, "-np", "1", *where)
        return registry.load(build.program, (*start, "--log=root.thres:critical"))


def _plan(measured: Iterable[Summary], catalog: Catalog, known: Run, further: Sequence[int]) -> Plan:
    """Return the measured cases in their own batches, and once on each further number of ranks.

    Cases that need other settings of the simulator are launches of their own.
    """
    wanted = _synchronization(known)
    batches: dict[tuple[bool, bool, Batch], dict[str, PlannedCase]] = {}
    for summary in measured:
        computes = takes_time_to_compute(catalog, summary.benchmark)
        short = exchanges_short(catalog, summary.benchmark, summary.parameters)
        parameters = {name: value for name, value in summary.parameters.items() if isinstance(value, int | str)}
        for ranks in dict.fromkeys([summary.ranks, *_allowed(catalog, summary.benchmark, further)]):
            case = PlannedCase(summary.benchmark, parameters, _sampling(ranks, computes, wanted))
            batch = (ranks, summary.transport, summary.placement)
            kind = (computes, short and ranks > FEW_RANKS, batch)
            batches.setdefault(kind, {}).setdefault(case.settings + case.benchmark, case)
    ordered = sorted(batches.items(), key=lambda item: (item[0][-1][0], item[0]))
    launches = [
        Launch(number, ranks, transport, placement, tuple(cases.values()))
        for number, ((_, _, (ranks, transport, placement)), cases) in enumerate(ordered, 1)
    ]
    return Plan(SEED, "baseline", tuple(launches))


def _allowed(catalog: Catalog, benchmark: str, further: Sequence[int]) -> list[int]:
    """Return the numbers of ranks on which a benchmark can run and ends in a reasonable time."""
    most = MOST_AT_ONCE if _calls(catalog, benchmark, MESSAGES_AT_ONCE) else max(further, default=0)
    return [count for count in further if count <= most and catalog[benchmark].ranks.allows(count)]


def _too_many_messages(measured: Iterable[Summary], catalog: Catalog, further: Sequence[int]) -> Iterator[str]:
    """Yield why a benchmark is not simulated on some of the numbers of ranks."""
    for name in dict.fromkeys(case.benchmark for case in measured):
        allowed = _allowed(catalog, name, further)
        asked = [count for count in further if catalog[name].ranks.allows(count) and count not in allowed]
        if asked:
            counts = ", ".join(map(str, asked))
            yield f"{name} on {counts} ranks: must be at most {MOST_AT_ONCE}; SMPI is slow on more ranks"


def _without_groups(request: Request, asked: Request) -> Iterator[str]:
    """Yield the transports that cannot be used on the requested platform, and why."""
    for name in dict.fromkeys(launch.transport for launch in request.plan.launches):
        if name not in {launch.transport for launch in asked.plan.launches}:
            network = asked.options.topology
            yield f"transport={name}: needs groups of hosts, so it cannot use --topology {network}"


def _without_room(request: Request, asked: Request) -> Iterator[str]:
    """Yield the numbers of ranks that the requested platform has no room for, and why."""
    room = len(asked.hosts)
    for ranks in dict.fromkeys(launch.ranks for launch in request.plan.launches):
        if ranks > room:
            yield f"{ranks} ranks: {len(asked.calibration.platform.nodes)} hosts have room for {room} ranks"


def _sampling(ranks: int, computes: bool, synchronization: str | None) -> dict[str, int | float | str]:
    """Return how a case is sampled: on many ranks by its first repetition, unless that runs with cold caches."""
    repetitions = REPETITIONS if ranks <= FEW_RANKS else 1
    most = repetitions + 1 if ranks <= FEW_RANKS or computes else repetitions
    return {
        **{"minimum_repetitions": repetitions, "maximum_repetitions": most, "budget_s": BUDGET_S},
        **({"synchronization": synchronization} if synchronization else {}),
    }


def _synchronization(known: Run) -> str | None:
    """Return how the ranks of the run were synchronized, if its experiment says so."""
    with suppress(UsageError):
        return resolve(known.directory.experiment, {}).sampling.synchronization
    return None


def _begin(directory: RunDirectory, request: Request) -> None:
    """Write what is known of a simulated run before its first launch, and the platform of the simulator."""
    known, made = request.known, request.calibration
    experiment = Experiment(
        name=directory.path.name if directory.path.name[:1].isalnum() else None,
        launches=1,
        seed=SEED,
        mpi=SIMULATOR,
        only=tuple(sorted({case.benchmark for launch in request.plan.launches for case in launch.cases})),
        sampling=Sampling(minimum_repetitions=REPETITIONS, maximum_repetitions=REPETITIONS + 1),
    )
    command = request.options.command
    begun_run.begin(directory, experiment, request.machine, request.catalog, request.plan, command)
    comments = [f"of run {known.record.name!r}: {made.platform.origin}", *made.comments]
    write_text(directory.platform, description.write(made.platform, comments, made.settings))
    if made.platform.topology is not None:
        write_text(directory.topology, topologies.write(made.platform.topology))


def _simulated(directory: RunDirectory, request: Request, progress: RunProgress) -> tuple[bool, list[str]]:
    """Simulate a plan in a run directory, and derive its statistics.

    Returns whether all cases are well, and the labels of those whose ranks shared memory for lack of room.
    """
    _begin(directory, request)
    outcome = launches.carried_out(directory, request, progress)
    analyze(directory.path)
    cases = Run(directory.path).raw_samples.cases
    sharing = [
        samples.case.label
        for samples in cases
        if samples.status == "ok" and (samples.launch, samples.case.key) in outcome.sharing
    ]
    return outcome.well, sharing


def _notes(request: Request, most_ranks: int) -> Iterator[str]:
    known, own = request.known, request.calibration
    if most_ranks > FEW_RANKS:
        yield (
            f"above {FEW_RANKS} ranks, broadcasts and reductions to one rank use a binomial tree, and "
            f"all-to-alls of up to {SHORT_BYTES} B use Bruck's algorithm. Longer and irregular all-to-alls, and "
            "reduce-scatters in shared memory, use pairwise exchanges. Irregular allgathers use a ring. A case "
            "has one repetition, or up to two repetitions if it computes"
        )
    if request.options.share_memory:
        yield (
            "in benchmarks that do not compute, all ranks used the same memory (--share-memory): their data were "
            "not verified"
        )
    here = this_host().processor.model
    there = known.machine.hosts[0].processor.model
    if here != there:
        yield f"computation takes as long as on this machine ({here}), not as on the measured machine ({there})"
    if known.machine.lab is not None:
        where = "on the platform as measured, " if request.options.own_cores else ""
        yield f"{where}hosts of a lab share cores: simulated computation is as slow as in the lab"
        yield "messages cost no CPU time"
    yield from (lack for lack in (ONE_RATE, NO_OVERHEAD) if lack in own.comments)


def _left_out(directory: RunDirectory) -> list[str]:
    return [
        f"{samples.case.label}: {samples.reason}"
        for samples in Run(directory.path).raw_samples.cases
        if samples.status != "ok"
    ]


def _times(directory: RunDirectory, catalog: Catalog) -> list[Summary]:
    return times(Run(directory.path).statistics, catalog)
