"""`scope health`: a verdict on every node of a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcscope import units
from hpcscope.cli.options import Json, Output
from hpcscope.cli.output import print_json
from hpcscope.cli.settings import Given, takes
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.health import HealthSettings
from hpcscope.settings.table import chosen, declared

if TYPE_CHECKING:
    from hpcscope.engine.health import Cost
    from hpcscope.health.records import HealthFile

WHERE = chosen(Experiment, "hosts", "hostfile", "launcher", "remote_shell", "storage")


@takes(options=declared(HealthSettings), given=WHERE)
def command(
    reference: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="An earlier check of sound nodes, which says what is fast enough."),
    ] = None,
    output: Output = None,
    json: Json = False,
    *,
    options: Given,
    given: Given,
) -> None:
    """Check every node without MPI, compare it with its peers, and say which are bad, and why.

    A small program is copied to each host, measures memory, processors, clock and disk there, and is removed. A
    node that stands out is measured again, beside others, before it is named. The exit code is 1 when a node is
    bad or does not answer.
    """
    from hpcscope.cli.progress import stage_progress
    from hpcscope.engine import health as engine

    known = None if reference is None else engine.read(reference)
    directory, record = engine.check(HealthSettings(**options), given, output, announce, stage_progress)
    sound = show(record, known, json)
    print(f"\nmeasured: {directory.path}", file=sys.stderr)
    if not sound:
        raise typer.Exit(1)


def show(record: HealthFile, reference: HealthFile | None, json: bool) -> bool:
    """Print the verdicts on a record; return whether no node is bad and all answer."""
    from hpcscope.health import verdict
    from hpcscope.report.terminal import health as terminal

    judged = verdict.judge(record, verdict.references(reference) if reference else None)
    if json:
        print_json(terminal.as_json(record, judged))
    else:
        print("\n".join(terminal.lines(record, judged)))
    return judged.sound


def announce(cost: Cost) -> None:
    """Say on the standard error what the check will take, before it begins."""
    from hpcscope.cli.progress import duration

    together = "one after the other" if cost.at_once == 1 and cost.hosts > 1 else "in parallel"
    hosts = f"{cost.hosts} hosts {together}" if cost.hosts > 1 else "this host"
    measuring = f"measuring for {cost.node_seconds:.0f} node-seconds"
    print(
        f"checking {hosts}: about {duration(cost.duration_s)}, {measuring};\n"
        f"  on each host at most {units.size(cost.memory_bytes)} of memory, {units.size(cost.file_bytes)} written,"
        f" {units.quantity(cost.program_bytes, 'B')} copied, per visit",
        file=sys.stderr,
    )
