"""The monitor: the library that stands between a program and its MPI, compiled once per installation and kept."""

from __future__ import annotations

import sys
from pathlib import Path

from scope.build import cmake
from scope.machine.machine import MpiInstallation

LIBRARY = "scope-monitor"
FINISHED = "finished"
"""A file that says that all of a build is there."""


def build(mpi: MpiInstallation) -> Path:
    """Return the library for programs of `mpi`, compiled now if this very one is not in the cache.

    Raises ScopeError with the first error and the log's path when it does not compile, UsageError when CMake
    or Ninja is missing.
    """
    project = _project(mpi)
    directory = project.directory
    with cmake.locked(directory):
        if (known := _known(directory)) is not None:
            return known
        cmake.compile_in(directory, project)
        (directory / FINISHED).touch()
    return _in(directory)


def built(mpi: MpiInstallation) -> Path | None:
    """Return what `build` would find in the cache; None where it would compile."""
    return _known(_project(mpi).directory)


def source_directory() -> Path:
    """Return the folder of the sources."""
    return cmake.sources_of("monitor", LIBRARY)


def _project(mpi: MpiInstallation) -> cmake.Project:
    # The wrappers are written by a script: by the Python that runs now.
    python = (f"-DPython3_EXECUTABLE={sys.executable}",)
    return cmake.Project(LIBRARY, source_directory(), mpi, targets=(LIBRARY,), definitions=python)


def _in(directory: Path) -> Path:
    return directory / f"lib{LIBRARY}.so"


def _known(directory: Path) -> Path | None:
    library = _in(directory)
    return library if (directory / FINISHED).is_file() and library.is_file() else None
