"""The monitor: the library that stands between a program and its MPI, compiled once per installation and kept."""

from __future__ import annotations

import sys
from pathlib import Path

from hpcscope.build import cmake
from hpcscope.machine.machine import MpiInstallation

LIBRARY = "scope-monitor"
PRODUCT = f"lib{LIBRARY}.so"


def build(mpi: MpiInstallation) -> Path:
    """Return the library for programs of `mpi`, compiled now if this very one is not in the cache.

    Raises ScopeError with the first error and the log's path when it does not compile, UsageError when CMake
    or Ninja is missing.
    """
    return cmake.compiled(_project(mpi), [PRODUCT]) / PRODUCT


def built(mpi: MpiInstallation) -> Path | None:
    """Return what `build` would find in the cache; None where it would compile."""
    return build(mpi) if cmake.kept(_project(mpi), [PRODUCT]) else None


def source_directory() -> Path:
    """Return the folder of the sources."""
    return cmake.sources_of("monitor", LIBRARY)


def _project(mpi: MpiInstallation) -> cmake.Project:
    # The wrappers are written by a script: by the Python that runs now.
    python = (f"-DPython3_EXECUTABLE={sys.executable}",)
    return cmake.Project(LIBRARY, source_directory(), mpi, targets=(LIBRARY,), definitions=python)
