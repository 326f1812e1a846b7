"""`scope list`: the benchmarks there are."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from scope.build.registry import BenchmarkDescription


def command(
    patterns: Annotated[
        list[str] | None, typer.Argument(metavar="PATTERN", help="Benchmarks: mpi, 'mpi.*' or mpi.latency.")
    ] = None,
    module: Annotated[str | None, typer.Option(help="Only what this module runs.")] = None,
    mpi: Annotated[str | None, typer.Option(help="The MPI whose build is asked.")] = None,
    json: Annotated[bool, typer.Option("--json", help="A list of objects instead of a table.")] = False,
) -> None:
    """Name the benchmarks, the module that runs each, and why one is not available."""
    import json as writer

    from scope.build import blas, installations, registry
    from scope.cli.run import built
    from scope.errors import UsageError
    from scope.plan.plan import MODULES

    if module is not None and module not in MODULES:
        raise UsageError(f"--module {module}: must be one of {', '.join(MODULES)}")
    build = built(installations.find(mpi))
    known = registry.load(build.program)
    chosen = [each for each in known if _chosen(each, patterns or [], module, MODULES)]
    if json:
        print(writer.dumps([_object(each) for each in chosen], indent=1))
    else:
        _print_table(chosen)
        print(f"linear algebra: {blas.described(build.blas) if build.blas else 'none'}")


def _chosen(benchmark: BenchmarkDescription, patterns: list[str], module: str | None, modules: list[str]) -> bool:
    included = module is None or modules.index(benchmark.module) <= modules.index(module)
    name = benchmark.name
    return included and (
        not patterns or any(fnmatchcase(name, each) or name.startswith(f"{each}.") for each in patterns)
    )


def _object(benchmark: BenchmarkDescription) -> dict[str, Any]:
    keys = ("name", "level", "module", "available", "reason", "summary")
    return {key: getattr(benchmark, key) for key in keys}


def _print_table(benchmarks: list[BenchmarkDescription]) -> None:
    from rich.table import Table

    from scope.report.terminal.console import console

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("benchmark", "module", "what it measures"):
        table.add_column(title, overflow="fold")
    for benchmark in benchmarks:
        summary = benchmark.summary if benchmark.available else f"not available: {benchmark.reason}"
        table.add_row(benchmark.name, benchmark.module, summary)
    console().print(table)
