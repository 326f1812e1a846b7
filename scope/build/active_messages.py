"""The active messages as a provider of libfabric: a library that MPI programs load, compiled once and kept."""

from __future__ import annotations

import re
from pathlib import Path

from scope.build import cmake, libraries
from scope.errors import UsageError
from scope.machine.machine import MpiInstallation

NAME = "scope-fi"
PRODUCT = f"lib{NAME}.so"
"""libfabric loads files of its provider folder that end so."""
PROVIDER = "scope"
"""As `fi_info -p` and FI_PROVIDER spell it."""
HEADER = "rdma/providers/fi_prov.h"
DEVICE = re.compile(r"--with-device=ch4:([\w,]+)")
"""In what the launcher of MPICH says of its build."""


def build(mpi: MpiInstallation) -> Path:
    """Return the library for programs of `mpi`, compiled now if this very one is not in the cache.

    Raises UsageError where the MPI or the compiler knows nothing of libfabric, ScopeError with the first error and
    the log's path when the library does not compile.
    """
    if (device := DEVICE.search(libraries.ask([mpi.launcher, "-info"]))) and "ofi" not in device[1].split(","):
        raise UsageError(
            f"{mpi.name} {mpi.version} was built without libfabric (device ch4:{device[1]}), which the active"
            " messages need; --mpi names another MPI"
        )
    if not libraries.header_folder(mpi.compiler, "libfabric", HEADER):
        raise UsageError(f"{mpi.compiler} finds no {HEADER}: the headers of libfabric (libfabric-dev) are needed")
    return cmake.compiled(_project(mpi), [PRODUCT]) / PRODUCT


def built(mpi: MpiInstallation) -> Path | None:
    """Return what `build` would find in the cache; None where it would compile."""
    return build(mpi) if cmake.kept(_project(mpi), [PRODUCT]) else None


def source_directory() -> Path:
    """Return the folder of the sources."""
    return cmake.sources_of("active-messages", NAME)


def _project(mpi: MpiInstallation) -> cmake.Project:
    folder = libraries.header_folder(mpi.compiler, "libfabric", HEADER)
    return cmake.Project(
        NAME, source_directory(), mpi, targets=(NAME,), definitions=(f"-DFABRIC_HEADERS={folder}",)
    )
