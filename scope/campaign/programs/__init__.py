"""MPI programs of published studies: small ones of a single source, and applications of the native build."""

from __future__ import annotations

from pathlib import Path

from scope.build import native, single_source
from scope.errors import UsageError
from scope.machine.machine import MpiInstallation

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of all programs."""
    return sorted([*(path.stem for path in FOLDER.glob("*.cpp")), *native.programs()])


def compiled(name: str, mpi: MpiInstallation) -> Path:
    """Return a program compiled for an MPI; UsageError for an unknown one, ScopeError if it does not compile."""
    if name not in names():
        raise UsageError(f"{name}: no such program; there are {', '.join(names())}")
    if name in native.programs():
        return Path(native.build(mpi).program).with_name(name)
    return single_source.compiled(FOLDER / f"{name}.cpp", [mpi.compiler], [mpi.name, mpi.version])
