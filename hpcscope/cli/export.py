"""`scope export`: results for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from hpcscope.cli.options import RunFolders
from hpcscope.cli.output import put


def command(
    format_: Annotated[str, typer.Argument(metavar="FORMAT", help="A format listed above.", show_default=False)],
    runs: RunFolders,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Benchmarks and filters, as for `scope show`; may be repeated."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PATH", help="File, or new directory; default: standard output."),
    ] = None,
) -> None:
    """Write results in the format of another program.

    \b
    For runs:
      csv           a line for each metric of each case
      jsonl         the lines of csv as JSON, with all keys of the results
      arrow         the lines of csv in Arrow's file format (Feather)
      parquet       the lines of csv in the Parquet format
      bencher       Bencher's metric format
      chrome        timeline of the measurement, for Perfetto
      code-quality  findings for a merge request on GitLab
      data-sheet    system, LINPACK and other values that a TOP500 entry needs
      extrap        JSON Lines for Extra-P; all series must vary the same parameters
      junit         JUnit XML, a test for each case
      latex         a table
      markdown      a summary for GitHub or GitLab
      openmetrics   gauges for Prometheus or the textfile collector of node_exporter
      reframe       a check for ReFrame that measures the cases again
      simgrid       a platform for SimGrid and SMPI
      thicket       a tree of cases for Hatchet and Thicket

    \b
    For monitored runs:
      chrome        the trace of one run, for Perfetto
      csv           a line for each routine, call site and size
      extrap        JSON Lines for Extra-P, of runs on different numbers of ranks
      files         a line for each file and layer
      hatchet       a tree in Hatchet's literal format

    \b
    For health checks:
      junit         JUnit XML, a test for each node
      nhc           a line for each bad node, as LBNL Node Health Check prints it
      openmetrics   verdicts and values of each node, for the textfile collector of node_exporter
    """  # noqa: D301  # a paragraph that is kept as it stands
    from hpcscope.archive.earlier_checks import kept
    from hpcscope.engine.export import exported

    put(exported(format_, runs, only or (), kept()), output)
