"""The topology-aware collectives: the library that programs preload, and the program that estimates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scope.build import cmake
from scope.machine.machine import MpiInstallation

LIBRARY = "scope-collectives"
ESTIMATOR = "scope-estimate"
FINISHED = "finished"
"""A file that says that all of a build is there."""


@dataclass(frozen=True)
class CollectivesBuild:
    """Both, for one MPI."""

    library: Path
    estimator: Path


def build(mpi: MpiInstallation) -> CollectivesBuild:
    """Return the library and the estimator for `mpi`, compiled now if these very ones are not in the cache.

    Raises ScopeError with the first error and the log's path when they do not compile, UsageError when CMake
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


def built(mpi: MpiInstallation) -> CollectivesBuild | None:
    """Return what `build` would find in the cache; None where it would compile."""
    return _known(_project(mpi).directory)


def _project(mpi: MpiInstallation) -> cmake.Project:
    return cmake.Project(LIBRARY, source_directory(), mpi, targets=(LIBRARY, ESTIMATOR))


def _in(directory: Path) -> CollectivesBuild:
    return CollectivesBuild(directory / f"lib{LIBRARY}.so", directory / ESTIMATOR)


def _known(directory: Path) -> CollectivesBuild | None:
    found = _in(directory)
    complete = (directory / FINISHED).is_file() and found.library.is_file() and found.estimator.is_file()
    return found if complete else None


def source_directory() -> Path:
    """Return the folder of the sources."""
    return cmake.sources_of("collectives", LIBRARY)


def usage(made: CollectivesBuild, mpi: MpiInstallation) -> list[str]:
    """Return the lines with which an MPI program runs under the library."""
    settings = {"LD_PRELOAD": str(made.library), "SCOPE_TOPOLOGY": "topology.toml"}
    if mpi.name == "openmpi":
        exported = " ".join(f"-x {name}={value}" for name, value in settings.items())
    else:
        exported = " ".join(f"-genv {name} {value}" for name, value in settings.items())
    return ["scope topology discover -o topology.toml", f"{mpi.launcher or 'mpiexec'} {exported} -n RANKS PROGRAM"]
