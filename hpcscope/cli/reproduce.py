"""`scope reproduce`: a published experiment, with the published values next to ours."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcscope.cli.options import Json, Output
from hpcscope.cli.output import display, grid, print_json, written
from hpcscope.cli.settings import Given, takes
from hpcscope.errors import UsageError
from hpcscope.settings.comparing import ReproductionSettings
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.table import chosen, declared

if TYPE_CHECKING:
    from rich.table import Table

    from hpcscope.engine.reproduce.reproduce import Reproduced, ReproduceOptions
    from hpcscope.models.published.overview import ComparedValue


@takes(
    options=declared(ReproductionSettings), given=chosen(Experiment, "mpi", "hosts", "oversubscribe", "storage")
)
def command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="For example param-node; see --list.", show_default=False),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the published experiments, and measure nothing.")
    ] = False,
    json: Json = False,
    *,
    options: Given,
    given: Given,
    output: Output = None,
    run: Annotated[
        Path | None, typer.Option("--run", metavar="DIR", help="Use the values of this run; measure nothing.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="DIR", help="Complete this interrupted reproduction.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Repeat all published experiments; write a page of results.")
    ] = False,
) -> None:
    """Run a published experiment at a size that fits this machine; show published and measured values.

    Absolute times of other machines and sizes are not comparable: compare ratios and speedups.
    """
    from hpcscope.cli.progress import run_progress
    from hpcscope.engine.reproduce import reproduce

    if listed:
        _list(json)
        return
    asked = reproduce.ReproduceOptions(
        **options, name=name or "", given=given, output=output, run=run, resume=resume
    )
    if everything:
        others = (given.keys() - {"mpi"}) | (options.keys() - {"time_s", "full", "quick"})
        if name is not None or run is not None or others or (asked.quick and asked.full):
            raise UsageError(
                "--all: must not be combined with a name, --launches, --budget, --run, --hosts, --storage or"
                " --oversubscribe, and not with both --quick and --full"
            )
        _all(asked, json)
        return
    if asked.quick:
        raise UsageError("--quick: only valid with --all; for one experiment use --launches and --budget")
    if name is None:
        raise UsageError("must be followed by the name of a published experiment; --list shows them")
    if [run, output, resume].count(None) < 2:
        raise UsageError("--run, --output, --resume: at most one of them must be given")
    if (lab := reproduce.lab_of(asked)) is not None:
        from hpcscope.cli.lab import run_in_lab

        run_in_lab(lab, sys.argv[1:])
    reproduced = reproduce.reproduce(asked, run_progress, sys.argv)
    if json:
        print_json([row.model_dump() for row in reproduced.rows])
    else:
        _show(reproduced)


def _all(options: ReproduceOptions, json: bool) -> None:
    """Repeat all experiments; print which relations hold, and where the report is."""
    from rich.text import Text

    from hpcscope.engine.reproduce.everything import PAGE, reproduce_all
    from hpcscope.models.published.overview import tally
    from hpcscope.report.reproduction import counted
    from hpcscope.report.terminal.console import console

    def say(name: str, number: int, total: int) -> None:
        typer.echo(f"{number + 1} of {total}: {name}", err=True)

    overview, folder = reproduce_all(options, say)
    if json:
        print_json(overview.model_dump())
        return
    screen = console()
    for outcome in overview.outcomes:
        if outcome.stated:
            screen.print(Text(f"{outcome.name}: {outcome.title}"))
            screen.print(statements(outcome.stated))
            screen.print()
    lines = []
    for outcome in overview.outcomes:
        one = tally(outcome.rows)
        counts = [
            str(each) if one.stated else "–"
            for each in (one.stated, one.yes, one.no, one.undecided, one.not_judged)
        ]
        lines.append([outcome.name, *counts, outcome.reason or ("" if one.stated else "no relation is stated")])
    heads = ["experiment", "relations", "hold", "do not hold", "undecided", "not judged", "remark"]
    screen.print(grid(heads, lines))
    screen.print(Text(f"\n{counted(overview.tally)}"))
    written(folder / PAGE)


def _list(json: bool) -> None:
    """Print names, titles and sources."""
    from hpcscope.models.published import reference

    known = [(name, reference.load(name)) for name in reference.names()]
    if json:
        print_json([{"name": name, "title": one.title, "source": one.source} for name, one in known])
    else:
        rows = [[name, one.title, one.source] for name, one in known]
        display(grid(["name", "title", "source"], rows, breaks=(1, 2)), breaks=True)


def _show(reproduced: Reproduced) -> None:
    """Print the published values next to ours, and how many of the statements hold."""
    from rich.text import Text

    from hpcscope.models.published.overview import tally
    from hpcscope.report.reproduction import counted
    from hpcscope.report.terminal.console import console

    reference = reproduced.reference
    screen = console()
    screen.print(Text(f"{reference.title}\n{reference.source}; {reference.machine}\n"))
    if reference.stands_for:
        screen.print(Text(f"{reference.stands_for}\n"))
    for place in reference.place:
        screen.print(Text(f"{place.name}: {place.words}"))
    if reference.place:
        screen.print()
    screen.print(statements(reproduced.rows))
    if any(row.relation for row in reproduced.rows):
        screen.print(Text(f"\n{counted(tally(reproduced.rows))}"))
    screen.print(Text(f"run: {reproduced.folder}"))


def statements(rows: list[ComparedValue]) -> Table:
    """Return the table of statements: published, predicted, ours, and whether the relation holds."""
    from rich.table import Table
    from rich.text import Text

    from hpcscope.report.reproduction import HEADS, NUMBERS, cells

    table = Table(box=None, pad_edge=False)
    for column in HEADS:
        table.add_column(column, justify="right" if column in NUMBERS else "left")
    for row in rows:
        table.add_row(*map(Text, cells(row)))
    return table
