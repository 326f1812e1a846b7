"""One file per launcher; each holds a `LAUNCHER` and is found by walking this package."""

from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from hpcscope.errors import UsageError
from hpcscope.launch.launcher import MPIEXEC, Launcher
from hpcscope.machine.machine import MpiInstallation


def choose(mpi: MpiInstallation, kind: str = MPIEXEC) -> Launcher:
    """Return the launcher of a kind that starts this MPI's programs; raises UsageError if there is none."""
    modules = (import_module(module.name) for module in iter_modules(__path__, f"{__name__}."))
    of_kind = [
        launcher for launcher in (cast(Launcher, module.LAUNCHER) for module in modules) if launcher.kind == kind
    ]
    if chosen := next((launcher for launcher in of_kind if mpi.name in launcher.mpis), None):
        return chosen
    known = ", ".join(name for launcher in of_kind for name in launcher.mpis)
    raise UsageError(f"--mpi {mpi.compiler}: no launcher for {mpi.name}; must be one of {known}")
