"""`scope history`: figures of a cluster in the course of time, and where they changed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scope.cli.options import Json
from scope.cli.repository import Place

if TYPE_CHECKING:
    from scope.engine.history import Event, History

LISTED = 8
"""Changes of one event that are printed."""


def command(
    benchmarks: Annotated[
        list[str] | None, typer.Argument(metavar="[BENCHMARK]...", help="Names, levels or patterns; default: all.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the cluster; default: that of the newest run.")
    ] = None,
    most: Annotated[int | None, typer.Option(metavar="N", min=2, help="Only the newest N runs.")] = None,
    fail: Annotated[
        float | None,
        typer.Option(
            "--fail-on-regression",
            metavar="PERCENT",
            min=0,
            help="Exit code 1 where the last change of a figure made it worse by more.",
        ),
    ] = None,
    folder: Place = None,
    json: Json = False,
) -> None:
    """Say where the figures of kept runs changed their level, and what changed in the machine there.

    Of each case the main result is looked at. A change is reported where chance alone would bring one as clear
    only once in a thousand series.
    """
    from scope.cli.output import print_json
    from scope.engine.history import history
    from scope.engine.repository import Repository

    found = history(Repository(folder), cluster, benchmarks or [], most)
    if json:
        print_json(_object(found))
    else:
        _print(found)
    if fail is not None and 100 * found.worst_regression() > fail:
        raise typer.Exit(1)


def _print(found: History) -> None:
    from scope.cli.streams import one_line

    typer.echo(f"{one_line(found.cluster)}: {len(found.courses)} figures of {found.runs} runs")
    if found.runs < found.fewest_runs:
        typer.echo(f"A change can be found from {found.fewest_runs} runs on.")
        return
    for event in found.events:
        _print_event(event)
    if not found.events:
        typer.echo("No figure changed its level.")
    among = f"among {len(found.courses)} figures where nothing changed"
    typer.echo(f"\nFalse alarms to expect {among}: {found.false_alarms:.2g}")


def _print_event(event: Event) -> None:
    from scope.cli.streams import one_line
    from scope.units import change as change_in_words
    from scope.units import quantity

    worse = sum(change.worse > 0 for change in event.changes)
    typer.echo(
        f"\n{_day(event.started_unix_s)}  {worse} worse, {len(event.changes) - worse} better"
        f"  (between the runs {event.before[:8]} and {event.after[:8]})"
    )
    for change in event.changes[:LISTED]:
        course, point = change.course, change.point
        typer.echo(
            f"  {'worse ' if change.worse > 0 else 'better'}  {one_line(course.label)}: "
            f"{quantity(point.before, course.unit)} -> {quantity(point.after, course.unit)}"
            f" ({change_in_words(point.factor - 1)})"
        )
    if len(event.changes) > LISTED:
        typer.echo(f"          and {len(event.changes) - LISTED} more")
    for words in event.differences or ["nothing that machine.json tells"]:
        typer.echo(f"  changed there: {one_line(words)}")


def _object(found: History) -> dict[str, Any]:
    return {
        "cluster": found.cluster,
        "figures": len(found.courses),
        "runs": found.runs,
        "false_alarms": found.false_alarms,
        "events": [
            {
                "before": event.before,
                "after": event.after,
                "started_unix_s": event.started_unix_s,
                "differences": event.differences,
                "changes": [
                    {
                        "benchmark": change.course.benchmark,
                        "metric": change.course.metric,
                        "label": change.course.label,
                        "unit": change.course.unit,
                        "before": change.point.before,
                        "after": change.point.after,
                        "worse": change.worse,
                        "probability": change.point.probability,
                    }
                    for change in event.changes
                ],
            }
            for event in found.events
        ],
    }


def _day(unix_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(unix_s))
