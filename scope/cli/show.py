"""`scope show`: the figures of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scope.statistics.summary import Summary


def command(
    run: Annotated[Path, typer.Argument(help="Run directory, for example runs/latest.")],
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATTERN",
            help="Benchmarks (mpi, 'mpi.*') and filters (mode=standard, message_bytes=1Ki, ranks=2).",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every definition of time, not only the headline.")] = False,
    json: Annotated[bool, typer.Option("--json", help="A list of objects instead of tables.")] = False,
    hpl: Annotated[bool, typer.Option("--hpl", help="algorithm.linpack, written as HPL's results.")] = False,
    top500: Annotated[bool, typer.Option("--top500", help="A data sheet as for the TOP500 list.")] = False,
    applications: Annotated[
        bool,
        typer.Option("--applications", help="What applications compute and send, and where their time goes."),
    ] = False,
) -> None:
    """Show the figures of a run: medians with their intervals, case by case."""
    from scope.campaign import is_campaign
    from scope.profiles.monitored_run import is_monitored
    from scope.report.run.contents import read_summaries
    from scope.report.run.selection import select

    if is_monitored(run):
        _show_monitored(run, patterns or [], json)
        return
    if is_campaign(run):
        _show_campaign(run, json)
        return
    if applications:
        _show_applications(run, patterns or [])
        return
    chosen = select(read_summaries(run), patterns or [])
    shown = chosen if every else [summary for summary in chosen if summary.primary]
    if json:
        _print_json(shown)
        return
    if hpl:
        _print_hpl(shown)
        return
    if top500:
        _print_top500(run, shown)
        return
    from scope.report.terminal.console import console
    from scope.report.terminal.listing import listing

    console().print(listing(shown))


def _show_campaign(run: Path, json: bool) -> None:
    """Print what a campaign, placement or soak shows."""
    from scope.campaign.folder import CampaignFolder
    from scope.cli import campaign

    folder = CampaignFolder(run.absolute())
    campaign.show(folder, *campaign.derive(folder), json)


def _show_monitored(run: Path, patterns: list[str], json: bool) -> None:
    """Print what a monitored program did; the rows with --json are its calls."""
    from scope.errors import UsageError
    from scope.report.profile import contents as profile_contents
    from scope.report.profile import text as profile_text
    from scope.report.terminal.console import console

    if patterns:
        raise UsageError(f"{patterns[0]}: patterns choose benchmarks; {run} is a monitored program")
    contents = profile_contents.read(run)
    if json:
        typer.echo(contents.merged.model_dump_json())
    else:
        profile_text.show(contents, console())


def _show_applications(run: Path, patterns: list[str]) -> None:
    """Print what applications are made of, their time on each number of processes, and their law."""
    from scope.errors import UsageError
    from scope.report.run import applications, contents
    from scope.report.terminal.console import console

    if patterns:
        raise UsageError(f"{patterns[0]}: patterns choose figures; --applications shows all applications of a run")
    read = contents.read(run)
    found = read.models.applications
    if not found:
        raise UsageError(f"--applications: {run} has no application that gave a result")
    screen = console()
    for table in (applications.characterisation(found, read.benchmarks), applications.times(read.models)):
        screen.print(applications.drawn(table))
        screen.print()
    for line in applications.laws(found):
        screen.print(line)


def _print_hpl(summaries: list[Summary]) -> None:
    from scope.errors import UsageError
    from scope.report.run import hpl

    if not any(summary.benchmark == hpl.BENCHMARK for summary in summaries):
        raise UsageError(f"--hpl: the run must have cases of {hpl.BENCHMARK}")
    for line in hpl.lines(summaries):
        typer.echo(line)


def _print_top500(run: Path, summaries: list[Summary]) -> None:
    from scope.errors import UsageError
    from scope.machine.machine import Machine
    from scope.models.computation.linpack_rates import BENCHMARK, linpack_rates
    from scope.report.run import top500
    from scope.rundirectory import RunDirectory, read_json

    rates = linpack_rates(summaries)
    if rates is None:
        raise UsageError(f"--top500: the run must have valid cases of {BENCHMARK}")
    for line in top500.lines(rates, read_json(RunDirectory(run).machine, Machine)):
        typer.echo(line)


def _print_json(summaries: list[Summary]) -> None:
    import json

    from scope.report.terminal.listing import rows

    typer.echo(json.dumps(rows(summaries), indent=1, ensure_ascii=False))
