"""`scope simulate`: a run in SimGrid, validated where it was measured."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcscope.cli.options import Json, Output, RunFolder
from hpcscope.cli.output import print_json
from hpcscope.cli.settings import Given, takes
from hpcscope.errors import UsageError
from hpcscope.settings.simulation import SimulationSettings
from hpcscope.settings.table import declared

if TYPE_CHECKING:
    from hpcscope.engine.simulate.simulate import Simulated
    from hpcscope.simulation.record import Simulation
    from hpcscope.statistics.summary import Summary


@takes(given=declared(SimulationSettings))
def command(
    run: RunFolder,
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="BENCHMARK", help="Benchmarks of the run: mpi.broadcast, 'mpi.*'; default: all."),
    ] = None,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set link.port.bandwidth or link.trunk.bandwidth (bytes per second), or multiply link.latency or "
            "host.speed by a factor. May be repeated.",
        ),
    ] = None,
    offers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TOML file with several changes and their costs, instead of --set, --hosts and --topology; "
            "shows the gain of each "
            "(docs/how-to/predict.md).",
        ),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            metavar="'PROGRAM ...'",
            help="Your own program, compiled with smpicc, smpicxx or smpif90, and its arguments; gives its time "
            "for each number of ranks.",
        ),
    ] = None,
    *,
    given: Given,
    every: Annotated[bool, typer.Option("--all", help="Show the error of every case.")] = False,
    output: Output = None,
    json: Json = False,
) -> None:
    """Simulate a run's cases to find the simulation error, then more ranks or another platform.

    Scope's native program itself runs in SimGrid, compiled with smpicxx (Debian: libsimgrid-dev), on a platform
    built from the run's values. The result is a run with origin "simulated". Simulated computation takes as
    long as computation on this machine.
    """
    from hpcscope.cli.progress import run_progress
    from hpcscope.engine.simulate import offers as several
    from hpcscope.engine.simulate import simulate
    from hpcscope.engine.simulate.request import SimulateOptions

    changes = _changes(choose or [])
    if offers is not None:
        own = {"--set": choose, "--program": program}
        own |= {f"--{key}": given.get(key) for key in ("hosts", "topology", "cost")}
        if beside := [name for name, value in own.items() if value is not None]:
            raise UsageError(f"{beside[0]}: not valid with --offers, whose file lists all changes")
    if "cost" in given and not changes and not given.keys() & {"hosts", "topology"}:
        raise UsageError(f"--cost {given['cost']:g}: only valid with a change: --set, --hosts or --topology")
    options = SimulateOptions(
        **given, changes=changes, only=patterns or [], program=_words(program), output=output, command=sys.argv
    )
    if offers is not None:
        _show_offers(several.simulated(run, offers, options, run_progress), every, json)
        return
    made = simulate.simulate(run, options, run_progress)
    if json:
        print_json(_as_json(made))
    else:
        from hpcscope.report.terminal import simulation
        from hpcscope.report.terminal.console import console
        from hpcscope.rundirectory import spelt

        screen = console()
        screen.print(simulation.validated(made.record, every))
        screen.print(simulation.simulated(made.record, made.summaries, made.unchanged, made.gains))
        screen.print(simulation.programs(made.record))
        for line in made.left_out:
            screen.print(f"no value: {line}", soft_wrap=True)
        print(f"run: {spelt(made.directory.path)}")
    if not made.well:
        raise typer.Exit(1)


def _show_offers(made: Sequence[Simulated], every: bool, json: bool) -> None:
    """Print the simulation error, which all offers share, then the offers side by side."""
    from hpcscope.report.terminal import simulation
    from hpcscope.report.terminal.console import console
    from hpcscope.rundirectory import spelt

    record = made[0].record
    if json:
        offered = [gain.model_dump() for gain in record.offers]
        print_json({"offers": offered, "simulated": [_as_json(simulated) for simulated in made]})
    else:
        screen = console()
        screen.print(simulation.validated(record.model_copy(update={"changes": []}), every))
        screen.print(simulation.offers(record))
        for line in dict.fromkeys(line for simulated in made for line in simulated.left_out):
            screen.print(f"no value: {line}", soft_wrap=True)
        for offer, one in zip(record.offers, made, strict=True):
            print(f"{offer.name}: {spelt(one.directory.path)}")
    if not all(simulated.well for simulated in made):
        raise typer.Exit(1)


def _words(program: str | None) -> list[str] | None:
    """Split a program and its arguments as a shell would; UsageError if a quotation mark is not closed."""
    try:
        return None if program is None else shlex.split(program)
    except ValueError as error:
        raise UsageError(f"--program {program}: {error}") from error


def _changes(words: list[str]) -> dict[str, float]:
    """Read the changes; UsageError for a word that is not `key=number`, and for a key that is given twice."""
    changes: dict[str, float] = {}
    for word in words:
        key, _, text = word.partition("=")
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not key or not 0 < value < float("inf"):
            raise UsageError(f"--set {word}: must be key=number, for example link.trunk.bandwidth=10e9")
        if key in changes:
            raise UsageError(f"--set {word}: {key} is given twice")
        changes[key] = value
    return changes


def _by_formula(record: Simulation, case: Summary) -> float | None:
    """Return the value of a case by a closed formula, in the unit of its result; None if no formula covers it."""
    known = {row.label: row.formula for row in record.validation} if not record.changes else {}
    said = record.formulas.get(case.label) or known.get(case.label)
    return said.value if said else None


def _as_json(made: Simulated) -> dict[str, object]:
    from hpcscope.report.terminal.listing import rows
    from hpcscope.simulation.gains import cost_of_a_percent, gained

    record = made.record
    before = {case.key: case for case in made.unchanged}
    gains = {summary.key: gained(summary, before.get(summary.key)) for summary in made.summaries}
    error, of_formulas = record.error_of(), record.formula_error_of()
    return {
        "run": str(made.directory.path),
        "record": record.model_dump(),
        "error": error.model_dump() if error else None,
        "error_of_formulas": of_formulas.model_dump() if of_formulas else None,
        "left_out": made.left_out,
        "gains": made.gains,
        "simulated": [
            row
            | {
                "beyond": record.beyond(case),
                "by_formula": _by_formula(record, case),
                "unchanged": before[case.key].median if case.key in before else None,
                "gain": gains[case.key],
                "cost_of_a_percent": cost_of_a_percent(record.cost, gains[case.key]),
            }
            for row, case in zip(rows(made.summaries), made.summaries, strict=True)
        ],
    }
