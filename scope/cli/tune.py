"""`scope tune`: the settings of LINPACK, the fastest way to access files, and the kernels of the BLAS."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scope.cli.options import Hostfile, Hosts, Interface, Mpi, Output, Oversubscribe, Seed, Storage, words

if TYPE_CHECKING:
    from scope.engine.tune import Tuned


def linpack(
    n: Annotated[int | None, typer.Option("--n", help="Order of the matrix in the last round.")] = None,
    memory_fraction: Annotated[
        float, typer.Option(help="Without --n: share of the available memory for the matrix.")
    ] = 0.8,
    seconds: Annotated[
        float, typer.Option(help="Without --n: longest time of one solution; inf: only the memory limits it.")
    ] = 10.0,
    ranks: Annotated[int | None, typer.Option(help="Number of ranks; default: all slots.")] = None,
    blocks: Annotated[str | None, typer.Option(metavar="64,128", help="Block sizes (NB) to choose from.")] = None,
    trials: Annotated[int, typer.Option(help="Combinations of block size and grid to measure.")] = 8,
    launches: Annotated[
        int, typer.Option(help="Number of independent launches (mpiexec) of each trial; 6 give intervals.")
    ] = 6,
    seed: Seed = None,
    mpi: Mpi = None,
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    interface: Interface = None,
    oversubscribe: Oversubscribe = False,
    json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
    output: Output = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Resume this search, or print a finished one.")
    ] = None,
) -> None:
    """Find good settings of LINPACK for this machine.

    They are N, NB, process grid, broadcast, row exchange and look-ahead. The times of all settings are predicted
    from short measurements; the best ones are measured, first at small N. The run directory also holds tune.json,
    tuning.txt, HPL.dat and best.toml.
    """
    import sys

    from scope.cli.output import resumable
    from scope.cli.progress import run_progress
    from scope.engine import tune
    from scope.engine.options import LauncherOptions, refuse_settings

    with resumable("scope tune linpack"):
        if resume is not None:
            given: dict[str, object] = {
                "n": n,
                "ranks": ranks,
                "blocks": blocks,
                "seed": seed,
                "mpi": mpi,
                "hosts": hosts,
            }
            given |= {"hostfile": hostfile, "interface": interface, "output": output}
            refuse_settings(resume, [name for name, value in given.items() if value])
            tuned = tune.resume(resume, run_progress)
        else:
            options = tune.TuneOptions(
                n=n,
                memory_fraction=memory_fraction,
                seconds=seconds,
                ranks=ranks,
                blocks=_blocks(blocks) if blocks else None,
                trials=trials,
                launches=launches,
                seed=seed,
                mpi=mpi,
                launcher=LauncherOptions(
                    hosts=words(hosts),
                    hostfile=hostfile,
                    interface=interface,
                    oversubscribe=oversubscribe or None,
                ),
            )
            tuned = tune.tune(options, output, run_progress, sys.argv)
    _show(tuned, json)
    raise typer.Exit(0 if tuned.well else 1)


def storage(
    direction: Annotated[str, typer.Option(metavar="write|read", help="What is to be fast.")] = "write",
    storage: Storage = None,
    file_bytes: Annotated[str, typer.Option(metavar="SIZE", help="Data of each rank.")] = "16Mi",
    file: Annotated[
        str | None, typer.Option(metavar="shared|per_process", help="Choose only among such files.")
    ] = None,
    ranks: Annotated[
        str | None, typer.Option(metavar="1,2,4", help="Numbers of ranks to choose from; default: powers of two.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Best predictions to measure.")] = 6,
    launches: Annotated[
        int, typer.Option(help="Number of independent launches (mpiexec) of each trial; 6 give intervals.")
    ] = 6,
    seed: Seed = None,
    mpi: Mpi = None,
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    interface: Interface = None,
    oversubscribe: Oversubscribe = False,
    json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
    output: Output = None,
) -> None:
    """Find the fastest way to access files here.

    Ways differ in ranks, one file or many, POSIX or MPI-IO, transfers and hints. The bandwidths of all ways are
    predicted from a few; the best ones are measured. The run directory also holds tune-storage.json, tuning.txt
    and best.toml.
    """
    import sys

    from scope.cli.progress import run_progress
    from scope.engine import tune_storage
    from scope.engine.options import LauncherOptions
    from scope.report.terminal import storage_tuning
    from scope.report.terminal.console import console
    from scope.rundirectory import spelt

    options = tune_storage.StorageTuneOptions(
        direction=direction,
        file_bytes=_integer("file-bytes", file_bytes),
        ranks=[_integer("ranks", word) for word in ranks.split(",")] if ranks else None,
        files=file,
        trials=trials,
        launches=launches,
        seed=seed,
        mpi=mpi,
        launcher=LauncherOptions(
            hosts=words(hosts),
            hostfile=hostfile,
            interface=interface,
            oversubscribe=oversubscribe or None,
            storage=storage,
        ),
    )
    tuned = tune_storage.tune(options, output, run_progress, sys.argv)
    if json:
        typer.echo(tuned.tuning.model_dump_json(indent=1))
    else:
        console().print(storage_tuning.page(tuned.tuning))
        typer.echo(f"\nrun it again   scope run {spelt(tuned.directory.path)}/best.toml")
    raise typer.Exit(0 if tuned.well else 1)


def blas(
    mpi: Mpi = None,
    time: Annotated[
        float, typer.Option(help="Seconds for all kernels together; one round is always measured.")
    ] = 300.0,
    json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
    output: Output = None,
) -> None:
    """Find the fastest kernels of OpenBLAS for this host's processors.

    OPENBLAS_CORETYPE chooses them. Products of matrices are measured with the kernels in use and, in turn, with
    each other kind that these processors can run. The folder holds tune-blas.json and the runs of both sides.
    """
    import sys

    from scope.cli.output import written
    from scope.cli.progress import stage_progress
    from scope.comparison.kernels import FILE
    from scope.engine import tune_blas
    from scope.report.terminal.console import console

    with stage_progress() as stage:
        tuned = tune_blas.tune(mpi, time, output, stage, sys.argv)
    if json:
        typer.echo(tuned.tuning.model_dump_json(indent=1))
    else:
        screen = console()
        for place, words in enumerate(tuned.tuning.words):
            screen.print(words, style="bold" if place == 0 else None, markup=False, highlight=False)
    written(tuned.path / FILE)
    raise typer.Exit(0 if tuned.well else 1)


def _integer(option: str, text: str) -> int:
    from scope.errors import UsageError
    from scope.units import whole

    try:
        return whole(text)
    except ValueError:
        raise UsageError(f"--{option} {text}: must be an integer, possibly with Ki, Mi or Gi") from None


def _blocks(text: str) -> list[int]:
    from scope.errors import UsageError

    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"--blocks {text}: must be numbers from 1 to 4096, such as 64,128") from None


def _show(tuned: Tuned, json: bool) -> None:
    """Print the record."""
    if json:
        typer.echo(tuned.tuning.model_dump_json(indent=1))
        return
    from rich.text import Text

    from scope.report.terminal import tuning
    from scope.report.terminal.console import console
    from scope.rundirectory import spelt

    folder = spelt(tuned.directory.path)
    screen = console()
    screen.print(tuning.page(tuned.tuning, tuned.rates))
    screen.print(Text(f"\nrun it again   scope run {folder}/best.toml"))
    screen.print(Text(f"for HPL        {folder}/HPL.dat"))
    screen.print(Text(f"data sheet     scope show {folder} --top500"))


COMMANDS = {"linpack": linpack, "storage": storage, "blas": blas}
