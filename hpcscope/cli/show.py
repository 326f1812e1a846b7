"""`scope show`: the results of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcscope.cli.options import RunFolder
from hpcscope.cli.output import display, print_json
from hpcscope.errors import UsageError

if TYPE_CHECKING:
    from hpcscope.findings.results import Run
    from hpcscope.statistics.summary import Summary


_FEW = 60
"""Most results that are printed if neither patterns nor options ask for them."""


def command(
    run: RunFolder,
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATTERN",
            help="Benchmarks (mpi, 'mpi.*') and filters (mode=standard, message_bytes=1Ki, ranks=2).",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every result, not only the main ones.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list, one object per result.")] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Also print each case in the form that `scope run --case` reads."),
    ] = False,
    hpl: Annotated[bool, typer.Option("--hpl", help="Show LINPACK in the output format of HPL.")] = False,
    top500: Annotated[bool, typer.Option("--top500", help="Show a data sheet in the style of TOP500.")] = False,
    applications: Annotated[
        bool, typer.Option("--applications", help="Show what applications compute and send, and where time goes.")
    ] = False,
) -> None:
    """Show the results of a run: a summary, or the median of each chosen case with its 95 % CI."""
    from hpcscope.engine import analysis

    kind = analysis.kind_of(run)
    if kind == "monitored":
        _show_monitored(run, patterns or [], json)
    elif kind == "campaign":
        from hpcscope.cli.campaign import show
        from hpcscope.engine import campaign

        show(campaign.results(run.absolute()), json)
    elif kind == "health":
        from hpcscope.archive.earlier_checks import kept
        from hpcscope.cli.health import show as show_health
        from hpcscope.engine import health

        record, _, judged = health.read_judged(run, kept())
        show_health(record, judged, json)
    elif applications:
        _show_applications(run, patterns or [])
    else:
        show_run(run, patterns or [], every, json, verbose, hpl, top500)


def show_run(
    run: Path,
    patterns: Sequence[str] = (),
    every: bool = False,
    json: bool = False,
    verbose: bool = False,
    hpl: bool = False,
    top500: bool = False,
) -> None:
    """Print the results of a run that patterns choose, as tables or in another form."""
    from hpcscope.findings.results import Run
    from hpcscope.report.run import introduction
    from hpcscope.report.run.selection import select
    from hpcscope.report.terminal.listing import listing, rows

    known = Run(run)
    chosen = select(known.statistics, patterns)
    shown = chosen if every else [summary for summary in chosen if summary.primary]
    if json:
        print_json(rows(shown))
    elif hpl:
        _print_hpl(shown)
    elif top500:
        _print_top500(known)
    else:
        from rich.text import Text

        from hpcscope.models.computation.loop_rates import loop_rates
        from hpcscope.report.run import notes
        from hpcscope.report.terminal import simulation, verdict

        if known.simulation is not None:
            display(simulation.validated(known.simulation))
            display(simulation.programs(known.simulation))
        if patterns or every or verbose or len(shown) <= _FEW:
            asked = patterns or every or verbose or not known.directory.findings.is_file()
            if sentence := "" if asked else introduction.verdict(known):
                display(Text(f"{sentence}\n", style="bold"))
            display(listing(shown, known.benchmarks, verbose))
            for spread in loop_rates(shown, known.benchmarks):
                display(Text(notes.loop_note(spread)))
            for benchmark in dict.fromkeys(summary.benchmark for summary in shown):
                for note in notes.switch_notes(known, benchmark):
                    display(Text(note))
            if words := introduction.program(known.machine):
                print(words)
        else:
            verdict.show_kept(known)


def _show_monitored(run: Path, patterns: list[str], json: bool) -> None:
    """Print the profile of a monitored program."""
    from hpcscope.cli.monitor import show_profile
    from hpcscope.report.profile import contents

    if patterns:
        raise UsageError(f"{patterns[0]}: patterns choose benchmarks, but {run} is a monitored program")
    if json:
        typer.echo(contents.read(run).merged.model_dump_json())
    else:
        show_profile(contents.read(run))


def _show_applications(run: Path, patterns: list[str]) -> None:
    """Print the operations and messages of applications, their times on each number of ranks, and the scaling."""
    from hpcscope.findings.results import Run
    from hpcscope.report.run import applications
    from hpcscope.report.terminal.console import console, grid

    if patterns:
        raise UsageError(f"{patterns[0]}: --applications shows all applications of a run and takes no patterns")
    known = Run(run)
    found = known.models.applications
    if not found:
        raise UsageError(f"--applications: {run} has no application with a result")
    screen = console()
    for table in (
        applications.characterisation(found, known.benchmarks),
        applications.times(known.models, known.benchmarks),
    ):
        screen.print(grid(table.columns, table.rows, applications.WORDS))
        screen.print()
    for line in applications.laws(found, known.benchmarks):
        screen.print(line)


def _print_hpl(summaries: list[Summary]) -> None:
    from hpcscope.report.terminal import hpl

    if not any(summary.benchmark == hpl.BENCHMARK for summary in summaries):
        raise UsageError(f"--hpl: the run must have cases of {hpl.BENCHMARK}")
    for line in hpl.lines(summaries):
        typer.echo(line)


def _print_top500(known: Run) -> None:
    from hpcscope.models.computation.linpack_rates import BENCHMARK
    from hpcscope.report.terminal import top500

    rates = known.models.linpack
    if rates is None:
        raise UsageError(f"--top500: the run must have valid cases of {BENCHMARK}")
    for line in top500.lines(rates, known.machine):
        typer.echo(line)
