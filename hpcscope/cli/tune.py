"""`scope tune`: the settings of LINPACK, the fastest way to access files, and the kernels of the BLAS."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcscope.cli.options import Output
from hpcscope.cli.output import display, resumable, written
from hpcscope.cli.settings import Given, refuse_beside, takes
from hpcscope.settings.comparing import ComparisonSettings
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.searches import LinpackSearch, StorageSearch
from hpcscope.settings.table import chosen, declared

if TYPE_CHECKING:
    from hpcscope.engine.tune.linpack import Tuned


HERE = chosen(Experiment, "seed", "mpi", "hosts", "hostfile", "interface", "oversubscribe")


@takes(search=declared(LinpackSearch), given=HERE)
def linpack(
    *,
    search: Given,
    given: Given,
    json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
    output: Output = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Resume this search; if it has finished, print its result.")
    ] = None,
) -> None:
    """Find good settings of LINPACK for this machine.

    The settings are N, NB, process grid, broadcast, row exchange and look-ahead. The times of all settings are
    predicted from short measurements; the best settings are then measured, first at small N. The run directory
    also holds tune.json, tuning.txt, HPL.dat and best.toml.
    """
    from hpcscope.cli.progress import run_progress
    from hpcscope.engine.tune import linpack

    with resumable("scope tune linpack"):
        if resume is not None:
            refuse_beside(resume, search, given, output=output)
            tuned = linpack.resume(resume, run_progress)
        else:
            tuned = linpack.tune(LinpackSearch(**search), given, output, run_progress, sys.argv)
    _show(tuned, json)
    raise typer.Exit(0 if tuned.well else 1)


@takes(search=declared(StorageSearch), given=(*chosen(Experiment, "storage"), *HERE))
def storage(
    *,
    search: Given,
    given: Given,
    json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
    output: Output = None,
) -> None:
    """Find the fastest way to access files here.

    The choices are number of ranks, one file or many, POSIX or MPI-IO, transfer size and hints. The bandwidths of
    all combinations are predicted from a few measured ones; then the best are measured. The run directory
    also holds tune-storage.json, tuning.txt and best.toml.
    """
    from hpcscope.cli.progress import run_progress
    from hpcscope.engine.tune import storage
    from hpcscope.report.terminal import storage_tuning
    from hpcscope.rundirectory import spelt

    tuned = storage.tune(StorageSearch(**search), given, output, run_progress, sys.argv)
    if json:
        typer.echo(tuned.tuning.model_dump_json(indent=1))
    else:
        display(storage_tuning.page(tuned.tuning))
        typer.echo(f"\nrun it again   scope run {spelt(tuned.directory.path)}/best.toml")
    raise typer.Exit(0 if tuned.well else 1)


@takes(given=chosen(Experiment, "mpi"), measuring=chosen(ComparisonSettings, "time"))
def blas(
    *,
    given: Given,
    measuring: Given,
    json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
    output: Output = None,
) -> None:
    """Find the fastest kernels of OpenBLAS for this host's processors.

    OPENBLAS_CORETYPE sets the kernels. Matrix products are measured with the current kernels, interleaved with all
    other kernels that these processors can run. The directory holds tune-blas.json and the runs with all kernels.
    """
    from hpcscope.cli.progress import stage_progress
    from hpcscope.comparison.kernels import FILE
    from hpcscope.engine.tune import blas
    from hpcscope.report.terminal.console import console

    with stage_progress() as stage:
        tuned = blas.tune(given.get("mpi"), ComparisonSettings(**measuring).time_s, output, stage, sys.argv)
    if json:
        typer.echo(tuned.tuning.model_dump_json(indent=1))
    else:
        screen = console()
        for place, words in enumerate(tuned.tuning.words):
            screen.print(words, style="bold" if place == 0 else None, markup=False, highlight=False)
    written(tuned.path / FILE)
    raise typer.Exit(0 if tuned.well else 1)


def _show(tuned: Tuned, json: bool) -> None:
    """Print the record."""
    if json:
        typer.echo(tuned.tuning.model_dump_json(indent=1))
        return
    from rich.text import Text

    from hpcscope.report.terminal import tuning
    from hpcscope.report.terminal.console import console
    from hpcscope.rundirectory import spelt

    folder = spelt(tuned.directory.path)
    screen = console()
    screen.print(tuning.page(tuned.tuning, tuned.rates))
    screen.print(Text(f"\nrun it again   scope run {folder}/best.toml"))
    screen.print(Text(f"for HPL        {folder}/HPL.dat"))
    screen.print(Text(f"data sheet     scope show {folder} --top500"))


COMMANDS = {"linpack": linpack, "storage": storage, "blas": blas}
