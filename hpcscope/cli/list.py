"""`scope list`: the benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hpcscope.cli.options import Json
from hpcscope.cli.output import attributes, display, grid, print_json
from hpcscope.cli.settings import Given, takes
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.table import chosen

if TYPE_CHECKING:
    from hpcscope.catalog.benchmark import Benchmark


@takes(given=chosen(Experiment, "mpi"))
def command(
    patterns: Annotated[
        list[str] | None, typer.Argument(metavar="PATTERN", help="Benchmarks: mpi, 'mpi.*' or mpi.latency.")
    ] = None,
    module: Annotated[
        str | None,
        typer.Option(metavar="baseline|standard|advanced", help="List only benchmarks that this module runs."),
    ] = None,
    *,
    given: Given,
    json: Json = False,
) -> None:
    """List the benchmarks, the module that runs each, and why a benchmark is not available."""
    from hpcscope.build import blas
    from hpcscope.engine import benchmarks

    listed = benchmarks.select(patterns or [], module, given.get("mpi"))
    if json:
        print_json([_object(benchmark) for benchmark in listed.benchmarks])
    else:
        _print_table(listed.benchmarks)
        print(f"linear algebra: {blas.described(listed.blas) if listed.blas else 'none'}")


def _object(benchmark: Benchmark) -> dict[str, Any]:
    known = attributes(benchmark, "name", "level", "module", "available", "reason", "summary")
    return known | ({"available": None} if benchmark.available and benchmark.reason else {})


def _print_table(benchmarks: Sequence[Benchmark]) -> None:
    rows = []
    for benchmark in benchmarks:
        summary = benchmark.summary if benchmark.available else f"not available: {benchmark.reason}"
        if benchmark.available and benchmark.reason:
            summary += f" (availability: {benchmark.reason})"
        rows.append([benchmark.name, benchmark.module, summary])
    display(grid(["benchmark", "module", "what it measures"], rows, breaks=(0, 1, 2)), breaks=True)
