"""The monitor: the library between a program and its MPI, compiled once per installation and kept."""

import sys
from pathlib import Path

from hpcscope.build import cmake, prebuilt
from hpcscope.machine.machine import MpiInstallation

LIBRARY = "scope-monitor"
PRODUCT = f"lib{LIBRARY}.so"


def build(mpi: MpiInstallation) -> Path:
    """Return the library for programs of `mpi` that came with Scope or is in the cache, else compiled now.

    Raises ScopeError with the first error and the log's path if it does not compile, UsageError if CMake or Ninja
    is missing.
    """
    return _ready(mpi) or cmake.compiled(project(mpi), [PRODUCT]) / PRODUCT


def built(mpi: MpiInstallation) -> Path | None:
    """Return what `build` would find in the cache; None if it would compile."""
    if ready := _ready(mpi):
        return ready
    asked = project(mpi)
    return cmake.compiled(asked, [PRODUCT]) / PRODUCT if cmake.kept(asked, [PRODUCT]) else None


def _ready(mpi: MpiInstallation) -> Path | None:
    """Return the library that came with Scope; None without one, as for the standard ABI (no Fortran from C)."""
    ready = prebuilt.fitting(mpi)
    return ready.folder / PRODUCT if ready and (ready.folder / PRODUCT).is_file() else None


def source_directory() -> Path:
    """Return the folder of the sources."""
    return cmake.sources_of("monitor", LIBRARY)


def project(mpi: MpiInstallation) -> cmake.Project:
    """Return what is compiled for `mpi`."""
    # A script generates the wrappers: run it with the current Python.
    python = (f"-DPython3_EXECUTABLE={sys.executable}",)
    return cmake.Project(LIBRARY, source_directory(), mpi, targets=(LIBRARY,), definitions=python)
