"""`scope figure`: curves for a paper."""

from pathlib import Path
from typing import Annotated

import typer

from hpcscope.cli.output import put


def command(
    patterns: Annotated[
        list[str],
        typer.Argument(
            metavar="PATTERN...",
            help="Benchmarks and filters, as for `scope show`: mpi.latency mode=standard.",
            show_default=False,
        ),
    ],
    runs: Annotated[
        list[Path] | None,
        typer.Option("--run", metavar="RUN", help="Run to draw as one curve; repeatable. Default: runs/latest."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="FILE.pdf, FILE.svg or FILE.png.")
    ] = None,
    table: Annotated[bool, typer.Option("--table", help="Write the data as CSV instead of a plot.")] = False,
) -> None:
    """Draw results against message size or another swept parameter, at the width of a paper's column.

    Lines are medians, and bands are their 95 % CIs. Limits are dashed lines. Protocol switches are marked.
    metric=NAME chooses the metric (default: the first of each benchmark). A PDF has one page per benchmark. In
    Python, hpcscope.figure(run, "mpi.latency") returns a matplotlib figure.
    """
    from hpcscope.engine.export import figure

    put(figure(runs or [Path("runs/latest")], patterns, output, table), output)
