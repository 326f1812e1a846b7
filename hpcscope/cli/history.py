"""`scope history`: values of a cluster over time, and when they changed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hpcscope.cli.options import Json
from hpcscope.cli.output import attributes, print_json, when, written
from hpcscope.cli.repository import Place
from hpcscope.cli.settings import Given, takes
from hpcscope.cli.streams import one_line
from hpcscope.errors import UsageError
from hpcscope.settings.comparing import HistorySettings
from hpcscope.settings.table import declared
from hpcscope.units import change as change_in_words
from hpcscope.units import interval, quantity

if TYPE_CHECKING:
    from hpcscope.archive.confirmation import Confirmation
    from hpcscope.archive.history import History, LevelEvent
    from hpcscope.archive.repository import Repository

LISTED = 8
"""Most changes of one event that are printed."""
MENTIONED = 0.02
"""Smaller changes of the whole machine are not printed."""


@takes(options=declared(HistorySettings))
def command(
    benchmarks: Annotated[
        list[str] | None, typer.Argument(metavar="BENCHMARK", help="Benchmarks, levels, patterns; default: all.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the cluster; default: cluster of the newest run.")
    ] = None,
    most: Annotated[int | None, typer.Option(metavar="N", min=2, help="Use only the newest N runs.")] = None,
    *,
    options: Given,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm", help="Measure the worst regressions again on this machine; ignore unconfirmed ones."
        ),
    ] = False,
    folder: Place = None,
    json: Json = False,
) -> None:
    """Show when the values of the runs in a repository shifted, and what changed in the machine at that time.

    Only the main result of each case is examined. In a year of nightly runs, at most one in fifty series raises a
    false alarm, even if successive nights are correlated. A slow change is called a drift.
    """
    from hpcscope.archive.history import history
    from hpcscope.archive.repository import Repository

    repository = Repository(folder)
    found = history(repository, cluster, benchmarks or [], most)
    asked = HistorySettings(**options)
    if asked.time_s is not None and not confirm:
        raise UsageError("--time: must be given with --confirm")
    confirmed = _confirmed(repository, found, asked.time_s) if confirm else None
    if json:
        print_json(_object(found) | ({} if confirmed is None else {"confirmations": _plain(confirmed)}))
    else:
        _print(found)
        _print_confirmations(confirmed or [])
    worst = found.worst_regression()
    if confirmed is not None:
        worst = max(
            [confirmation.change.worse for confirmation in confirmed if confirmation.confirmed], default=0.0
        )
    if asked.fail_on_regression is not None and worst > asked.fail_on_regression:
        raise typer.Exit(1)


def _confirmed(repository: Repository, found: History, time_s: float | None) -> list[Confirmation]:
    """Measure regressions again; the run stays below runs/."""
    from hpcscope.archive.confirmation import confirm as measure
    from hpcscope.archive.history import compiler
    from hpcscope.archive.index import RunChoice
    from hpcscope.cli.progress import run_progress
    from hpcscope.health.records import NAME

    runs = [entry for entry in repository.chosen(RunChoice(cluster=found.cluster)) if entry.module != NAME]
    if not runs:
        raise UsageError(f"--confirm: only health checks of {found.cluster} are kept; `scope health` repeats them")
    known = {entry.fingerprint for entry in runs}
    # Another MPI would give other values.
    given = {"time_s": time_s, "mpi": compiler(repository, runs[0].id) or None}
    path, confirmations = measure(repository, found, known, given, sys.argv, run_progress)
    if path is not None:
        written(path)
    return confirmations


def _print_confirmations(confirmations: Sequence[Confirmation]) -> None:
    if confirmations:
        typer.echo("\nMeasured again:")
    for confirmation in confirmations:
        course = confirmation.change.course
        now = (
            interval(confirmation.now.median, confirmation.now.low, confirmation.now.high, course.unit)
            if confirmation.now
            else "no result"
        )
        verdict = "confirmed" if confirmation.confirmed else "state" if confirmation.state else "unconfirmed"
        before = quantity(confirmation.change.point.before, course.unit)
        typer.echo(f"  {verdict:<11}  {one_line(course.label)}: {now}, before the change {before}")
        if confirmation.state:
            typer.echo(f"               the speed of the whole machine changed: {confirmation.state}")
    if confirmations and abs(confirmations[0].machine - 1) > MENTIONED:
        factor = confirmations[0].machine
        typer.echo(
            f"  Cases that never changed now take {factor:.2f} times as long: this factor is due to the machine."
        )


def _plain(confirmations: Sequence[Confirmation]) -> list[dict[str, Any]]:
    return [
        {
            **attributes(confirmation.change.course, "benchmark", "label", "metric"),
            **attributes(confirmation, "confirmed", "machine", "state"),
            "before": confirmation.change.point.before,
            "now": confirmation.now.model_dump() if confirmation.now else None,
        }
        for confirmation in confirmations
    ]


def _print(found: History) -> None:
    runs = "1 run" if found.runs == 1 else f"{found.runs} runs"
    typer.echo(f"{one_line(found.cluster)}: {len(found.courses)} values of {runs}")
    if found.runs < found.fewest_runs:
        typer.echo(f"A change can be found with {found.fewest_runs} or more runs.")
        return
    for event in found.events:
        _print_event(event)
    if not found.events:
        typer.echo("No value changed its level.")
    typer.echo(f"\nExpect up to {found.false_alarms:.2g} false alarms a year among {len(found.courses)} values.")


def _print_event(event: LevelEvent) -> None:
    worse = sum(change.worse > 0 for change in event.changes)
    typer.echo(
        f"\n{when(event.started_unix_s)}  values: {worse} worse, {len(event.changes) - worse} better"
        f"  (between the runs {event.before[:8]} and {event.after[:8]})"
    )
    for change in event.changes[:LISTED]:
        course, point = change.course, change.point
        typer.echo(
            f"  {'worse ' if change.worse > 0 else 'better'}  {one_line(course.label)}: "
            f"{quantity(point.before, course.unit)} -> {quantity(point.after, course.unit)}"
            f" ({change_in_words(point.factor - 1)}{', a drift' if point.kind == 'drift' else ''})"
        )
    if len(event.changes) > LISTED:
        typer.echo(f"          and {len(event.changes) - LISTED} more")
    for words in event.differences or ["nothing that machine.json records"]:
        typer.echo(f"  changed in the machine: {one_line(words)}")


def _object(found: History) -> dict[str, Any]:
    return {
        "cluster": found.cluster,
        "figures": len(found.courses),
        "runs": found.runs,
        "false_alarms": found.false_alarms,
        "events": [
            {
                **attributes(event, "before", "after", "started_unix_s", "differences"),
                "changes": [
                    {
                        **attributes(change.course, "benchmark", "metric", "label", "unit"),
                        **attributes(change.point, "before", "after"),
                        "worse": change.worse,
                        **attributes(change.point, "kind", "standard_errors"),
                    }
                    for change in event.changes
                ],
            }
            for event in found.events
        ],
    }
