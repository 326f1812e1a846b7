"""MPI programs of published studies: applications of the native build, and benchmarks as stand-alone programs."""

from pathlib import Path

from hpcscope.build import native
from hpcscope.catalog.declared import declared
from hpcscope.errors import UsageError
from hpcscope.machine.machine import MpiInstallation


def names() -> list[str]:
    """Return the names of all programs."""
    return sorted([*native.programs(), *declared().names])


def command(name: str, arguments: str, mpi: MpiInstallation) -> list[str]:
    """Return the words that start a program built for an MPI; UsageError for an unknown program.

    `arguments`: options of an application (`--levels 4`) or parameters of a benchmark (`class=W`).
    """
    if name not in names():
        raise UsageError(f"{name}: no such program; must be one of {', '.join(names())}")
    measure = Path(native.build(mpi).program)
    if name in native.programs():
        return [str(measure.with_name(name)), *arguments.split()]
    return [str(measure), "--action=alone", f"--case={name} {arguments}".rstrip()]
