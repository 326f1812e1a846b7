"""The native program, compiled once per MPI installation, compiler, flags and sources, and kept."""

from __future__ import annotations

import os
import time
from pathlib import Path

from scope.build import blas, cmake, fabrics, scalapack
from scope.errors import UsageError
from scope.machine.machine import MpiInstallation, NativeBuild
from scope.rundirectory import read_json, write_json

PROGRAM = "scope-measure"
EXTRA_BENCHMARKS = "SCOPE_EXTRA_BENCHMARKS"
"""The environment variable that names a folder of further benchmarks, compiled beside those of Scope."""


def is_built(mpi: MpiInstallation) -> bool:
    """Say whether `build` would find this very build in the cache."""
    return _known(_project(mpi, source_directory()).directory) is not None


def build(mpi: MpiInstallation) -> NativeBuild:
    """Return the native program for `mpi`, compiled now if this very one is not in the cache.

    Raises ScopeError with the first error and the log's path when it does not compile, UsageError when CMake
    or Ninja is missing.
    """
    project = _project(mpi, source_directory())
    algebra = blas.find(mpi.compiler)
    solver = scalapack.find(mpi)
    fingerprint = project.fingerprint
    directory = cmake.cache_directory() / "build" / fingerprint
    with cmake.locked(directory):
        if (known := _known(directory)) is not None:
            # The library may choose other kernels on this host than where the program was compiled.
            return known.model_copy(update={"mpi": mpi, "blas": algebra, "scalapack": solver})
        cmake.compile_in(directory, project)
        if solver is not None and solver.mpi_name:
            scalapack.link_mpi_name(directory / PROGRAM, solver)
        made = NativeBuild(
            fingerprint=fingerprint,
            program=str(directory / PROGRAM),
            compiler=cmake.compiler_version(mpi),
            flags=cmake.flags(directory),
            mpi=mpi,
            blas=algebra,
            scalapack=solver,
            built_unix_s=time.time(),
        )
        write_json(directory / "build.json", made)
        return made


def source_directory() -> Path:
    """Return the folder of the native program's sources."""
    return cmake.sources_of("measure", PROGRAM)


def extra_benchmarks() -> Path | None:
    """Return the folder that $SCOPE_EXTRA_BENCHMARKS names; UsageError where it holds no source."""
    asked = os.environ.get(EXTRA_BENCHMARKS)
    if not asked:
        return None
    folder = Path(asked).expanduser().resolve()
    if not any(folder.rglob("*.cpp")):
        raise UsageError(
            f"{EXTRA_BENCHMARKS}={asked}: must be a folder with benchmarks (.cpp, and .md beside them)"
        )
    return folder


def fingerprint_of(mpi: MpiInstallation, sources: Path) -> str:
    """Return what tells this build from any other: compiler, build type, flags, MPI, libraries and all sources."""
    return _project(mpi, sources).fingerprint


def _project(mpi: MpiInstallation, sources: Path) -> cmake.Project:
    algebra = blas.find(mpi.compiler)
    libraries = fabrics.find(mpi.compiler)
    solver = scalapack.find(mpi)
    facts = (algebra.library, algebra.prefix, algebra.version) if algebra else ()
    extra = extra_benchmarks()
    return cmake.Project(
        name=PROGRAM,
        sources=sources,
        mpi=mpi,
        targets=(PROGRAM,),
        further_sources=(extra,) if extra else (),
        facts=(
            *facts,
            *(scalapack.definitions(solver) if solver else ()),
            *(fact for fabric in libraries for fact in (*fabric.definitions, fabric.version)),
            str(extra or ""),
        ),
        definitions=(
            f"-DSCOPE_BLAS_LIBRARY={algebra.library if algebra else ''}",
            f"-DSCOPE_BLAS_PREFIX={algebra.prefix if algebra else ''}",
            *(scalapack.definitions(solver) if solver else ()),
            *(definition for fabric in libraries for definition in fabric.definitions),
            f"-D{EXTRA_BENCHMARKS}={extra or ''}",
        ),
    )


def _known(directory: Path) -> NativeBuild | None:
    """Return the finished build of this folder, if there is one."""
    program, record = directory / PROGRAM, directory / "build.json"
    if not (os.access(program, os.X_OK) and record.is_file()):
        return None
    try:
        return read_json(record, NativeBuild)
    except UsageError:  # of another version of Scope: compile again
        return None
