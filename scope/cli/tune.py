"""`scope tune`: settings of LINPACK are predicted, a few are tried, and a record is kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from scope.launch.everywhere import Cluster
    from scope.launch.supervisor import Limits
    from scope.machine.machine import NativeBuild
    from scope.plan.experiment import Experiment
    from scope.plan.plan import Plan
    from scope.rundirectory import RunDirectory
    from scope.tune.record import Round, Settings, Tuning
    from scope.tune.search import Evidence

NAME = "tune-linpack"
TRY_BUDGET_S = 0.2
"""A try that is shorter is repeated for so long in each launch; a longer one is timed once, after a first."""
PATIENCE = 20
"""A case is ended that takes so many times what was predicted, and a minute."""


def command(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="linpack.", show_default=False)],
    n: Annotated[int | None, typer.Option("--n", help="Equations of the last tries.")] = None,
    memory_fraction: Annotated[
        float, typer.Option(help="Without --n: the share of the available memory that they may take.")
    ] = 0.8,
    seconds: Annotated[
        float, typer.Option(help="Without --n: how long one solution may take; inf for all of the memory.")
    ] = 10.0,
    ranks: Annotated[int | None, typer.Option(help="Processes; without it all slots.")] = None,
    blocks: Annotated[str | None, typer.Option(help="64,128 - blocks to choose from.")] = None,
    tries: Annotated[int, typer.Option(help="Blocks and grids that are tried at all.")] = 8,
    launches: Annotated[int, typer.Option(help="How often each round is started; 6 give intervals.")] = 6,
    seed: Annotated[int | None, typer.Option(help="Of the random order.")] = None,
    mpi: Annotated[str | None, typer.Option(help="openmpi, mpich, embedded, a folder or an mpicxx.")] = None,
    hosts: Annotated[str | None, typer.Option(help="a:2,b:2 - hosts and their slots.")] = None,
    hostfile: Annotated[str | None, typer.Option(help="A file with a host per line.")] = None,
    interface: Annotated[str | None, typer.Option(help="The network interface for messages.")] = None,
    oversubscribe: Annotated[bool, typer.Option("--oversubscribe", help="Allow more ranks than cores.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The record instead of tables.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The run's folder.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue this tuning, or print it again.")] = None,
) -> None:
    """Find good settings of LINPACK here: N, block, grid, broadcast, exchange of rows, look-ahead.

    Times of all settings are predicted from short measurements; the best are tried, first with few equations. The
    run's folder is an ordinary one, with tune.json, tuning.txt, HPL.dat and best.toml besides.
    """
    from scope.cli.run import refuse_settings
    from scope.errors import UsageError
    from scope.plan.experiment import resolve

    if what != "linpack":
        raise UsageError(f"scope tune {what}: must be linpack")
    if resume is not None:
        given = {"n": n, "ranks": ranks, "blocks": blocks, "seed": seed, "mpi": mpi, "hosts": hosts}
        refuse_settings(resume, given | {"hostfile": hostfile, "interface": interface, "output": output})
        well = take_up(resume, json)
    else:
        options = {
            "name": NAME,
            "module": "advanced",
            "mpi": mpi,
            "seed": seed,
            "launcher.hosts": hosts.split(",") if hosts else None,
            "launcher.hostfile": hostfile,
            "launcher.interface": interface,
            "launcher.oversubscribe": oversubscribe or None,
        }
        asked = settings(n, memory_fraction, seconds, ranks, blocks, tries, launches)
        well = begin(asked, resolve(None, options), output, json)
    raise typer.Exit(0 if well else 1)


def settings(
    n: int | None,
    memory_fraction: float,
    seconds: float,
    ranks: int | None,
    blocks: str | None,
    tries: int,
    launches: int,
) -> Settings:
    """Return what is asked for; UsageError names the option, its value and what is allowed."""
    from scope.errors import UsageError
    from scope.tune.candidates import BLOCKS
    from scope.tune.record import Settings
    from scope.tune.search import FEWEST_EQUATIONS, MOST_EQUATIONS

    def refuse(option: str, value: object, allowed: str) -> None:
        raise UsageError(f"--{option} {value}: must be {allowed}")

    try:
        chosen = sorted({int(word) for word in blocks.split(",")}) if blocks else list(BLOCKS)
    except ValueError:
        chosen = []
    if not chosen or not 1 <= chosen[0] <= chosen[-1] <= 4096:
        refuse("blocks", blocks, "numbers from 1 to 4096, such as 64,128")
    if n is not None and not FEWEST_EQUATIONS <= n <= MOST_EQUATIONS:
        refuse("n", n, f"from {FEWEST_EQUATIONS} to {MOST_EQUATIONS}")
    if not 0 < memory_fraction <= 0.95:
        refuse("memory-fraction", f"{memory_fraction:g}", "more than 0 and at most 0.95")
    if not seconds > 0:
        refuse("seconds", f"{seconds:g}", "more than 0")
    for option, value, most in (("ranks", ranks, 1_000_000), ("tries", tries, 1000), ("launches", launches, 1000)):
        if value is not None and not 1 <= value <= most:
            refuse(option, value, f"from 1 to {most}")
    return Settings(
        ranks=ranks or 0,
        n=n,
        memory_fraction=memory_fraction,
        seconds=None if seconds == float("inf") else seconds,
        blocks=chosen,
        tries=tries,
        launches=launches,
    )


def begin(asked: Settings, experiment: Experiment, output: Path | None, json: bool) -> bool:
    """Begin a run with what predictions rest on, and tune in it; return whether every case is well."""
    import sys

    from scope.build import registry
    from scope.cli.run import settled
    from scope.launch import run as runs
    from scope.plan import plan as planning
    from scope.plan.experiment import Selection
    from scope.rundirectory import FORMAT, write_json
    from scope.tune import calibration
    from scope.tune.record import FILE, Tuning

    where = "the command line"
    experiment, build, cluster, machine = settled(experiment, where)
    benchmarks = registry.load(build.program)
    place = cluster.place
    asked = asked.model_copy(update={"ranks": asked.ranks or place.room(experiment.launcher.binding)})
    cases = calibration.cases(asked.ranks, asked.blocks, len(place.slots))
    # A barrier starts solutions of milliseconds and more well enough, and no try is lost for a late start.
    sampling = experiment.sampling.model_copy(
        update={"budget_s": calibration.BUDGET_S, "synchronization": "dissemination"}
    )
    first = experiment.model_copy(
        update={
            "case": [Selection.model_validate(case) for case in cases],
            "launches": calibration.LAUNCHES,
            "sampling": sampling,
        }
    )
    plan = planning.make(first, benchmarks, place, where)
    directory = runs.new_directory(NAME, output)
    runs.make_latest(directory)
    runs.begin(directory, first, machine, benchmarks, plan, sys.argv)
    tuning = Tuning(format=FORMAT, settings=asked)
    write_json(directory.path / FILE, tuning)
    return tune(directory, tuning, build, cluster, json)


def take_up(folder: Path, json: bool) -> bool:
    """Go on with a tuning; nothing that has its record is run again."""
    from scope.build import installations
    from scope.cli.run import built
    from scope.launch import everywhere, launcher
    from scope.launch import run as runs
    from scope.report.run.contents import located
    from scope.rundirectory import RunDirectory, read_json
    from scope.tune.record import FILE, Tuning

    directory = RunDirectory(located(folder).path.resolve())
    tuning = read_json(directory.path / FILE, Tuning)
    if tuning.conclusion is not None:
        return tell(directory, tuning, json)
    begun = runs.read(directory)
    mpi = installations.find(runs.compiler(directory, begun.machine))
    site = launcher.site(mpi, begun.experiment.launcher, str(directory.experiment))
    build = built(mpi)
    cluster = everywhere.look_at(site)
    runs.refuse_changes(directory, begun.machine, build, cluster.hosts)
    return tune(directory, tuning, build, cluster, json)


def tune(directory: RunDirectory, tuning: Tuning, build: NativeBuild, cluster: Cluster, json: bool) -> bool:
    """Measure round after round until all is concluded; the record is written before each."""
    from scope.cli.analyze import analyze
    from scope.cli.run import measure
    from scope.launch import run as runs
    from scope.plan import plan as planning
    from scope.report.run import page
    from scope.rundirectory import write_json, write_text
    from scope.tune.record import FILE
    from scope.tune.search import advanced

    begun = runs.read(directory)
    plan, margin_s = begun.plan, begun.experiment.launcher.time_margin_s
    well = True
    while tuning.conclusion is None:
        if tuning.rounds:
            plan = with_round(directory, plan, tuning, cluster)
            write_text(directory.plan, planning.write(plan))
        limits = limits_of(tuning.rounds[-1] if tuning.rounds else None)
        well = measure(directory, plan, build, cluster, limits, margin_s, again="scope tune linpack")
        tuning = advanced(tuning, evidence(directory, tuning, cluster))
        write_json(directory.path / FILE, tuning)
    analyze(directory.path)
    write_winner(directory, tuning)
    page.write(directory.path)
    return tell(directory, tuning, json) and well


def with_round(directory: RunDirectory, plan: Plan, tuning: Tuning, cluster: Cluster) -> Plan:
    """Return the plan with the launches of the last round."""
    from scope.build.registry import BenchmarkDescription
    from scope.launch import run as runs
    from scope.plan import plan as planning
    from scope.plan.experiment import Selection
    from scope.rundirectory import read_json
    from scope.tune.candidates import BENCHMARK
    from scope.tune.record import FILE

    asked = runs.read(directory).experiment
    tries = tuning.rounds[-1].tries
    cases = [{"benchmark": BENCHMARK, "ranks": tuning.settings.ranks, **t.candidate.settings(t.n)} for t in tries]
    further = asked.model_copy(
        update={
            "case": [Selection.model_validate(case) for case in cases],
            "launches": tuning.settings.launches,
            "seed": plan.seed + len(tuning.rounds),
            "sampling": asked.sampling.model_copy(update={"budget_s": TRY_BUDGET_S}),
        }
    )
    benchmarks = read_json(directory.benchmarks, list[BenchmarkDescription])
    launches = planning.make(further, benchmarks, cluster.place, str(directory.path / FILE)).launches
    return planning.extended(plan, launches)


def limits_of(round_: Round | None) -> Limits:
    """Return how long the cases of a round may take: a prediction may be far off, but not without bound."""
    from scope.launch.supervisor import Limits

    longest_s = max((each.predicted_s for each in round_.tries), default=0.0) if round_ else 0.0
    return Limits(case_s=60 + PATIENCE * longest_s)


def evidence(directory: RunDirectory, tuning: Tuning, cluster: Cluster) -> Evidence:
    """Return what the samples say so far."""
    from scope.build.registry import BenchmarkDescription
    from scope.launch import run as runs
    from scope.rundirectory import read_json
    from scope.samples.reader import read
    from scope.statistics.summarise import summarise
    from scope.tune import calibration
    from scope.tune.memory import of_hosts
    from scope.tune.search import Evidence

    samples = read(directory.path)
    benchmarks = read_json(directory.benchmarks, list[BenchmarkDescription])
    machine = runs.read(directory).machine
    summaries = summarise(samples, benchmarks)
    slots = cluster.place.slots
    costs = calibration.costs(summaries, machine, samples.launches, tuning.settings.ranks, min(slots))
    return Evidence(summaries, costs, of_hosts(machine.hosts, slots, tuning.settings.ranks))


def write_winner(directory: RunDirectory, tuning: Tuning) -> None:
    """Write the chosen settings as an experiment and as HPL's input, and the record as text."""
    import io

    from scope.launch import run as runs
    from scope.plan import experiment as asking
    from scope.plan import hpl
    from scope.plan.experiment import Selection
    from scope.report.terminal.console import console
    from scope.rundirectory import write_text
    from scope.tune.candidates import BENCHMARK

    assert tuning.conclusion is not None
    case = tuning.conclusion.chosen.settings(tuning.conclusion.n)
    chosen = Selection.model_validate({"benchmark": BENCHMARK, "ranks": tuning.settings.ranks, **case})
    asked = runs.read(directory).experiment
    sampling = asked.sampling.model_copy(update={"budget_s": TRY_BUDGET_S})
    best = {"case": [chosen], "launches": tuning.settings.launches, "name": "linpack", "sampling": sampling}
    write_text(directory.path / "best.toml", asking.write(asked.model_copy(update=best)))
    title = f"chosen by scope tune linpack: {tuning.conclusion.chosen.label}"
    write_text(directory.path / "HPL.dat", hpl.written(case, title))
    text = io.StringIO()
    console(text).print(table(directory, tuning))
    write_text(directory.path / "tuning.txt", text.getvalue())


def table(directory: RunDirectory, tuning: Tuning) -> RenderableType:
    """Return the record as text."""
    from scope.models.computation.linpack_rates import linpack_rates
    from scope.report.run.contents import read_summaries
    from scope.report.terminal import tuning as report

    return report.page(tuning, linpack_rates([s for s in read_summaries(directory.path) if s.primary]))


def tell(directory: RunDirectory, tuning: Tuning, json: bool) -> bool:
    """Print the record; return whether it has a conclusion."""
    from rich.text import Text

    from scope.report.terminal.console import console
    from scope.rundirectory import spelt

    if json:
        typer.echo(tuning.model_dump_json(indent=1))
        return True
    screen = console()
    screen.print(table(directory, tuning))
    folder = spelt(directory.path)
    screen.print(Text(f"\nrun it again   scope run {folder}/best.toml"))
    screen.print(Text(f"for HPL        {folder}/HPL.dat"))
    screen.print(Text(f"data sheet     scope show {folder} --top500"))
    return True
