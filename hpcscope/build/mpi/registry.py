"""All implementations, and how one is recognized by its name, header, launcher or library."""

import re
from collections.abc import Mapping

from hpcscope.build.mpi.implementation import MpiFamily, MpiImplementation
from hpcscope.build.mpi.mpich import INTEL_MPI, MPICH, MPICH_FAMILY, MVAPICH
from hpcscope.build.mpi.openmpi import OPEN_MPI, OPEN_MPI_FAMILY

SIMGRID = MpiImplementation(
    name="simgrid",
    title="SimGrid",
    family=None,
    version_macros=(("SIMGRID_VERSION_MAJOR", "SIMGRID_VERSION_MINOR"),),
    banner=r"SimGrid version ([\d.]+)",
    banner_differs=True,
    compiler="smpicxx",
    compiler_version=("-show", "-compiler-version"),  # without -show, smpicxx links an empty program
    launchers=("smpirun",),
    simulates=True,
)
"""SMPI, whose ranks are simulated in one process: https://simgrid.org/doc/latest/app_smpi.html."""
IMPLEMENTATIONS = (OPEN_MPI, INTEL_MPI, MVAPICH, MPICH, SIMGRID)
"""All implementations; derivatives of MPICH, which also define its macros, come before it."""
FAMILIES: tuple[MpiFamily, ...] = (OPEN_MPI_FAMILY, MPICH_FAMILY)
SHARED_MEMORY = tuple(sorted({pattern for family in FAMILIES for pattern in family.shared_memory}))
"""Patterns of the names of all families' files below /dev/shm."""
SESSIONS = tuple(family.session for family in FAMILIES if family.session)
"""Session directories of all families' launchers, see `MpiFamily.session`."""
UNKNOWN = "unknown"


def named(name: str) -> MpiImplementation:
    """Return the implementation of this name; one without a family if the name is not known."""
    return next(
        (implementation for implementation in IMPLEMENTATIONS if implementation.name == name),
        MpiImplementation(name, name, None),
    )


def compilers() -> tuple[str, ...]:
    """Return the names of all compiler wrappers for C++."""
    return tuple(dict.fromkeys(implementation.compiler for implementation in IMPLEMENTATIONS))


def of_header(macros: Mapping[str, str]) -> tuple[str, str]:
    """Return name and version from the macros that an mpi.h defines."""
    for implementation in IMPLEMENTATIONS:
        for group in implementation.version_macros:
            if all(macro in macros for macro in group):
                return implementation.name, ".".join(macros[macro].strip('"') for macro in group)
    standard = ".".join(macros.get(macro, "?") for macro in ("MPI_VERSION", "MPI_SUBVERSION"))
    return UNKNOWN, f"MPI {standard}"


def of_launcher(printed: str) -> tuple[MpiImplementation, str] | None:
    """Return implementation and version from what a launcher's `--version` prints; None if it names none."""
    for implementation in IMPLEMENTATIONS:
        if implementation.banner and (match := re.search(implementation.banner, printed)):
            return implementation, match[1]
    return None


def of_library(soname: str) -> tuple[str, ...]:
    """Return the names of the implementations whose programs ask for this library; none for any other library."""
    own = tuple(implementation.name for implementation in IMPLEMENTATIONS if soname in implementation.sonames)
    shared = tuple(
        implementation.name
        for implementation in IMPLEMENTATIONS
        if implementation.family and soname in implementation.family.sonames
    )
    return own + shared


def family_of(name: str) -> MpiFamily | None:
    """Return the family of the implementation of this name; None if the name is not known."""
    return named(name).family
