"""`scope reproduce`: a published experiment here, its figures beside ours."""

from __future__ import annotations

from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scope.models.published.reference import Reference, Scale
    from scope.models.published.reproduction import Row
    from scope.plan.experiment import Experiment
    from scope.report.run.contents import Contents

LONGEST_CASE_S = 600.0
"""A published size may take a plain loop several seconds for each repetition."""


def command(
    name: Annotated[str, typer.Argument(help="For example scope-appendix-g; an unknown name lists all.")],
    full: Annotated[bool, typer.Option("--full", help="The published sizes, however long they take.")] = False,
    json: Annotated[bool, typer.Option("--json", help="A list of objects instead of a table.")] = False,
    launches: Annotated[int | None, typer.Option(help="How often everything is started anew.")] = None,
    budget: Annotated[float, typer.Option(help="Seconds per case and launch.")] = 0.2,
    mpi: Annotated[str | None, typer.Option(help="openmpi, mpich, embedded, a folder or an mpicxx.")] = None,
    hosts: Annotated[
        str | None, typer.Option(help="a:2,b:2 - hosts and their slots, separated by commas.")
    ] = None,
    oversubscribe: Annotated[
        bool, typer.Option("--oversubscribe", help="Allow more ranks than cores: Strassen needs seven.")
    ] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The run's folder.")] = None,
    run: Annotated[
        Path | None, typer.Option("--run", metavar="DIR", help="Take the figures of this run, measure nothing.")
    ] = None,
) -> None:
    """Run a published experiment at a size that fits this machine, and print published, predicted and measured.

    Absolute times of other machines and sizes are no match for ours: compare ratios and speed-ups.
    """
    import sys

    from scope.lab.active import active
    from scope.models.published.reference import load

    reference = load(name)
    folder = run
    if folder is None and reference.study is not None:
        from scope.cli import published_study

        folder = published_study.run(reference.study, name, full, launches, mpi, output)
    if folder is None and reference.lab is not None and active() is None:
        raise typer.Exit(main_within(reference.lab))
    if folder is None:
        # What a run prints goes aside: the rows are what this command prints.
        with redirect_stdout(sys.stderr):
            folder = measured(reference, name, full, launches, budget, mpi, hosts, oversubscribe, output)
    found = rows_of(reference, folder, full)
    if json:
        import json as encoder

        typer.echo(encoder.dumps([row.model_dump() for row in found], indent=1, ensure_ascii=False))
        return
    show(reference, found, folder)


def main_within(lab: str) -> int:
    """Start this very command anew inside a lab and return its exit code."""
    import sys

    from scope.cli import dispatch

    return dispatch("lab", ["within", lab, "--", *sys.argv[1:]])


def measured(
    reference: Reference,
    name: str,
    full: bool,
    launches: int | None,
    budget: float,
    mpi: str | None,
    hosts: str | None,
    oversubscribe: bool,
    output: Path | None,
) -> Path:
    """Run the experiment through the ordinary machinery and return its run directory."""
    import sys

    from scope.cli.run import run as run_experiment
    from scope.cli.run import selection
    from scope.errors import ScopeError
    from scope.launch import run as runs
    from scope.launch.supervisor import Limits
    from scope.plan.experiment import resolve

    directory = runs.new_directory(name, output)
    runs.make_latest(directory)
    scale = reference.scale(full)
    options = {
        "name": name,
        "mpi": mpi,
        "launches": launches or scale.launches,
        "sampling.budget_s": budget,
        "launcher.hosts": hosts.split(",") if hosts else reference.hosts or None,
        "launcher.oversubscribe": oversubscribe or None,
    }
    plain = resolve(None, options)
    cases = [selection(text) for text in fitting(scale, slots(plain))]
    experiment = resolve(None, {**options, "case": cases})
    limits = Limits(case_s=LONGEST_CASE_S if full or reference.lab else None)
    if not run_experiment(experiment, f"reference/{name}.toml", limits, directory.path, sys.argv):
        raise ScopeError(f"{directory.path}: a case failed, or its data was wrong; see the findings above")
    return directory.path


def slots(experiment: Experiment) -> int | None:
    """Return how many ranks may be asked for; None: as many as one likes."""
    from scope.build import installations
    from scope.launch import everywhere, launcher

    if experiment.launcher.oversubscribe:
        return None
    site = launcher.site(installations.find(experiment.mpi), experiment.launcher, "the command line")
    return everywhere.look_at(site).place.room(experiment.launcher.binding)


def fitting(scale: Scale, room: int | None) -> list[str]:
    """Leave out cases on a fixed number of ranks that this machine has no room for."""

    def fits(text: str) -> bool:
        word = next(word for word in text.split() if word.startswith("ranks=")).removeprefix("ranks=")
        return room is None or not word.isdigit() or int(word) <= room

    return [text for text in scale.cases if fits(text)]


def rows_of(reference: Reference, folder: Path, full: bool) -> list[Row]:
    """Hold a run's figures against the published ones."""
    if reference.study is not None:
        from scope.cli import published_study

        return published_study.rows(reference, folder)
    from scope.models.published import growth as published_growth
    from scope.models.published import linpack as published_linpack
    from scope.models.published import rates as published_rates
    from scope.models.published import times as published_times
    from scope.models.published.reproduction import Known, rows
    from scope.report.run import contents as run_contents
    from scope.samples.reader import read as read_samples

    contents = run_contents.read(folder)
    if reference.broadcast:
        return broadcasts(reference, folder, contents)
    if reference.product:
        return products(reference, folder, contents, full)
    if reference.growth:
        return published_growth.rows(reference, contents.models.fits, contents.summaries[0].origin)
    if reference.rate:
        return published_rates.rows(reference, contents.summaries)
    if reference.share:
        return published_times.rows(reference, contents.summaries)
    if reference.linpack:
        return published_linpack.rows(reference, contents.summaries)
    known = Known(
        contents.summaries,
        contents.models.speedups,
        contents.machine,
        read_samples(folder).launches,
        reference.scale(full).sizes,
    )
    return rows(reference, known)


def broadcasts(reference: Reference, folder: Path, contents: Contents) -> list[Row]:
    """Hold a run's broadcasts against a published table and against what its topology lets expect."""
    from scope.build import collectives
    from scope.errors import UsageError
    from scope.models.published import broadcasts as published_broadcasts
    from scope.rundirectory import RunDirectory
    from scope.samples.reader import read as read_samples
    from scope.topology.estimate import LIBRARY, LIMIT, estimate

    found = published_broadcasts.measured(contents.summaries)
    topology = RunDirectory(folder).topology
    if not found or contents.machine.build is None or not topology.is_file():
        raise UsageError(f"{folder}: must be a run of mpi.broadcast on several hosts, with its topology.toml")
    largest = next(iter(found.values()))
    launch = next(one for one in read_samples(folder).launches if one.ranks == largest.ranks)
    hosts = [process.host for process in sorted(launch.processes, key=lambda process: process.rank)]
    mpi, size = contents.machine.build.mpi, int(largest.parameters["message_bytes"])
    estimates = estimate(collectives.build(mpi).estimator, topology, "broadcast", size, hosts, mpi.name)
    by_transport = {f"collectives.broadcast.{name}": one.seconds for name, one in estimates.items()}
    by_transport["default"] = estimates[LIBRARY].seconds
    known = published_broadcasts.Broadcasts(
        ranks=largest.ranks,
        message_bytes=size,
        origin=largest.origin,
        measured_s={transport: one.median for transport, one in found.items() if one.median is not None},
        estimated_s=by_transport,
        limit_s=estimates[LIMIT].seconds,
    )
    return published_broadcasts.rows(reference, known)


def products(reference: Reference, folder: Path, contents: Contents, full: bool) -> list[Row]:
    """Hold a run's products of matrices against published ones, with the bytes that crossed each trunk."""
    from scope.errors import UsageError
    from scope.models.published import products as published_products
    from scope.rundirectory import RunDirectory
    from scope.samples.reader import read as read_samples
    from scope.topology.topology import read as read_topology

    topology = RunDirectory(folder).topology
    if not topology.is_file():
        raise UsageError(f"{folder}: must be a run on several groups of hosts, with its topology.toml")
    found = published_products.measured(contents.summaries, read_samples(folder), read_topology(topology))
    return published_products.rows(reference, reference.scale(full).sizes, found)


def show(reference: Reference, found: list[Row], folder: Path) -> None:
    """Print the rows as a table."""
    from rich.table import Table
    from rich.text import Text

    from scope import units
    from scope.report.terminal.console import console

    def number(value: float | None, unit: str) -> str:
        return "–" if value is None else units.quantity(value, unit) if unit in ("s", "B") else units.digits(value)

    table = Table(box=None, pad_edge=False)
    for column in ("row", "published", "predicted", "measured", "limit", "origin", "remark"):
        words = column in ("row", "origin", "remark")
        table.add_column(column, justify="left" if words else "right", no_wrap=not words)
    for row in found:
        figures = [number(value, row.unit) for value in (row.published, row.predicted, row.measured, row.limit)]
        table.add_row(*map(Text, [row.row, *figures, row.origin, row.remark]))
    screen = console()
    screen.print(Text(f"{reference.title}\n{reference.source}; {reference.machine}\n"))
    if reference.study is not None:
        screen.print(Text(f"{reference.study.stands_for}\n"))
    screen.print(table)
    screen.print(Text(f"\nthe run: {folder}"))
