"""The topology-aware collectives: the library that programs preload, and the estimator of times."""

from dataclasses import dataclass
from pathlib import Path

from hpcscope.build import cmake, prebuilt
from hpcscope.build.mpi import registry
from hpcscope.machine.machine import MpiInstallation

LIBRARY = "scope-collectives"
ESTIMATOR = "scope-estimate"
PRODUCTS = (f"lib{LIBRARY}.so", ESTIMATOR)


@dataclass(frozen=True)
class CollectivesBuild:
    """Library and estimator for one MPI."""

    library: Path
    estimator: Path


def build(mpi: MpiInstallation) -> CollectivesBuild:
    """Return the library and the estimator for `mpi` that came with Scope or are in the cache, else compiled now.

    Raises ScopeError with the first error and the log's path if they do not compile, UsageError if CMake or Ninja
    is missing.
    """
    ready = prebuilt.fitting(mpi)
    directory = ready.placed({}) if ready else cmake.compiled(project(mpi), PRODUCTS)
    return CollectivesBuild(*(directory / name for name in PRODUCTS))


def built(mpi: MpiInstallation) -> CollectivesBuild | None:
    """Return what `build` would find in the cache; None if it would compile."""
    return build(mpi) if prebuilt.fitting(mpi) or cmake.kept(project(mpi), PRODUCTS) else None


def project(mpi: MpiInstallation) -> cmake.Project:
    """Return what is compiled for `mpi`."""
    sources = cmake.sources_of("collectives", LIBRARY)
    return cmake.Project(LIBRARY, sources, mpi, targets=(LIBRARY, ESTIMATOR))


def usage(made: CollectivesBuild, mpi: MpiInstallation) -> list[str]:
    """Return the lines with which an MPI program runs under the library."""
    settings = {"LD_PRELOAD": str(made.library), "SCOPE_TOPOLOGY": "topology.toml"}
    family = registry.family_of(mpi.name)
    exported = " ".join(family.exports(settings)) if family else ""
    return ["scope topology discover -o topology.toml", f"{mpi.launcher or 'mpiexec'} {exported} -n RANKS PROGRAM"]
