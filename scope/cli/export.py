"""`scope export`: results for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scope.cli.options import RunFolders


def command(
    format_: Annotated[str, typer.Argument(metavar="FORMAT", help="One of those below.", show_default=False)],
    runs: RunFolders,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Benchmarks and filters, as scope show takes them; repeatable."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: the standard output.")
    ] = None,
) -> None:
    """Write results in the format of another program: runs, or monitored runs.

    Runs:
    bencher: Bencher's metric format. code-quality: findings for a merge request on GitLab. csv: a line for each
    metric of each case. extrap: JSON Lines for Extra-P, of figures that vary the same parameters. jsonl: the
    same figures as csv, with their keys. junit: JUnit XML, a test for each case. latex: a table. markdown: a
    summary for GitHub or GitLab. openmetrics: gauges for Prometheus or the textfile collector of node_exporter.

    Monitored runs:
    csv: a line for each routine, call site and size. files: one for each file and layer. extrap: JSON Lines
    for Extra-P, of runs on different numbers of processes. hatchet: a literal tree. chrome: the trace of one run,
    for Perfetto.
    """
    from scope.cli.output import written
    from scope.engine.export import exported
    from scope.rundirectory import write_text

    text = exported(format_, runs, only or ())
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_text(output, text)
        written(output)
