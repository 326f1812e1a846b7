"""The native program, compiled once per MPI installation, compiler, flags and sources, and kept."""

import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from hpcscope.build import blas, cmake, fabrics, identity, prebuilt, scalapack
from hpcscope.build.mpi import registry
from hpcscope.errors import UsageError
from hpcscope.machine.machine import Blas, MpiInstallation, NativeBuild, Scalapack
from hpcscope.rundirectory import expanded, read_json, write_json

PROGRAMS = "programs"
"""Applications as separate programs next to the native one; `programs()` names them."""
PROGRAM = "scope-measure"
WHOLE, BASELINE = "", "baseline"
"""The program with everything, or only with what the module of this name measures: half of it."""
FURTHER_TRANSPORTS = frozenset({"active_messages", "ethernet", "libfabric", "ucx"})
"""Transports that only the whole program has."""
DEVICE_MEMORY = frozenset({"device", "staged"})
"""Memory for messages that only the whole program knows."""
ACTIVE_MESSAGES = "active-messages"
"""The library below the messages of one protocol, which is part of the program."""
COLLECTIVES = "collectives"
"""The topology-aware collectives, which are part of the program if ranks are simulated."""
EXTRA_BENCHMARKS = "SCOPE_EXTRA_BENCHMARKS"
"""The environment variable that names a folder of further benchmarks, compiled together with Scope's."""

logger = logging.getLogger(__name__)


def kept(mpi: MpiInstallation, part: str = WHOLE) -> NativeBuild | None:
    """Return a program with at least this part, from the cache or as it came with Scope; None without any."""
    if mpi.compiles:
        libraries = _found(mpi)
        asked = _project(mpi, source_directory(), part, libraries)
        if (here := _compiled_part(asked)) is not None:
            return _served(asked, asked.directory_of(here), libraries)
    ready = None if extra_benchmarks() else prebuilt.fitting(mpi)
    return _placed(ready, mpi) if ready else None


def build(mpi: MpiInstallation, part: str = WHOLE, compile_own: bool = False) -> NativeBuild:
    """Return a native program for `mpi` with at least this part, compiled now if none is here.

    `compile_own`: do not use a program that came with Scope. Raises ScopeError with the first error and the log's
    path if it does not compile, UsageError if CMake, Ninja or a compiler is missing.
    """
    if not (compile_own and mpi.compiles) and (ready := kept(mpi, part)) is not None:
        return ready
    libraries = _found(mpi)
    asked = _project(mpi, source_directory(), part, libraries)
    return _served(asked, asked.directory, libraries)


def _served(asked: cmake.Project, directory: Path, libraries: "_Libraries") -> NativeBuild:
    """Return the program of a folder of the cache, compiled now if it is not there."""
    mpi = asked.mpi
    assert mpi is not None
    with cmake.locked(directory):
        made = _known(directory)
        if made is None:
            logger.info("compiling the native program for %s %s ...", mpi.name, mpi.version)
            cmake.compile_in(directory, asked)
            made = NativeBuild(
                fingerprint=asked.fingerprint,
                program=str(directory / cmake.PRODUCTS / PROGRAM),
                compiler=cmake.compiler_version(mpi),
                flags=cmake.flags(asked),
                mpi=mpi,
                built_unix_s=time.time(),
            )
            write_json(directory / "build.json", made)
        program = cmake.linked(directory, asked.all_links) / PROGRAM
        if libraries.solver is not None and libraries.solver.mpi_name:
            scalapack.link_mpi_name(program, libraries.solver)
    # It may have been compiled with the same libraries elsewhere, with kernels for another processor.
    here = {"program": str(program), "mpi": mpi, "blas": libraries.algebra, "scalapack": libraries.solver}
    return made.model_copy(update=here)


def _placed(ready: prebuilt.Prebuilt, mpi: MpiInstallation) -> NativeBuild:
    """Return a program that came with Scope, next to links to the libraries of this environment."""
    algebra = blas.find(mpi.wrapper)
    folder, record = ready.placed({"blas": algebra.library} if algebra else {}), ready.record
    fingerprint = cmake.digest(record.fingerprint, mpi.name, mpi.version, identity.digest(ready.library))
    here = {"program": str(folder / PROGRAM), "mpi": mpi, "blas": algebra, "fingerprint": fingerprint}
    return record.model_copy(update=here)


def _compiled_part(asked: cmake.Project) -> str | None:
    """Return the part in the cache that can replace the one asked for; None if there is none."""
    return next((part for part in dict.fromkeys((WHOLE, asked.part)) if _known(asked.directory_of(part))), None)


def source_directory() -> Path:
    """Return the folder of the native program's sources."""
    return cmake.sources_of("measure", PROGRAM)


def programs() -> list[str]:
    """Return the names of the applications that are separate programs next to the native one."""
    return sorted(path.stem for path in (source_directory() / "src" / PROGRAMS).glob("*.cpp"))


def extra_benchmarks() -> Path | None:
    """Return the folder that $SCOPE_EXTRA_BENCHMARKS names; UsageError if it holds no source."""
    asked = os.environ.get(EXTRA_BENCHMARKS)
    if not asked:
        return None
    folder = expanded(EXTRA_BENCHMARKS, asked).resolve()
    if not any(folder.rglob("*.cpp")):
        raise UsageError(
            f"{EXTRA_BENCHMARKS}={asked}: must be a directory with benchmarks (.cpp, and .md next to them)"
        )
    return folder


class _Libraries(NamedTuple):
    """The libraries of this host that the program uses."""

    algebra: Blas | None = None
    solver: Scalapack | None = None
    fabric: tuple[fabrics.Fabric, ...] = ()


def project(mpi: MpiInstallation, sources: Path, part: str = WHOLE) -> cmake.Project:
    """Return what is compiled for `mpi` from these sources."""
    return _project(mpi, sources, part, _found(mpi))


def _project(mpi: MpiInstallation, sources: Path, part: str, libraries: _Libraries) -> cmake.Project:
    algebra, solver, fabric = libraries
    facts = (algebra.name, algebra.prefix, algebra.version) if algebra else ()
    links = {
        "blas": algebra.library if algebra else "",
        "scalapack": solver.library if solver and not solver.parts else "",
    }
    extra = extra_benchmarks()
    return cmake.Project(
        name=PROGRAM,
        sources=sources,
        mpi=mpi,
        targets=(f"{PROGRAM}-{part}",) if part else (PROGRAM, PROGRAMS),
        beside=(*cmake.SHARED, ACTIVE_MESSAGES, *([COLLECTIVES] if registry.named(mpi.name).simulates else [])),
        further_sources=(extra,) if extra else (),
        facts=(*facts, *scalapack.definitions(solver), *fabrics.definitions(fabric)),
        definitions=(
            f"-DSCOPE_BLAS_LIBRARY={algebra.library if algebra else ''}",
            f"-DSCOPE_BLAS_PREFIX={algebra.prefix if algebra else ''}",
            *scalapack.definitions(solver),
            *fabrics.definitions(fabric),
            f"-D{EXTRA_BENCHMARKS}={extra or ''}",
        ),
        links={name: library for name, library in links.items() if library},
        part=part,
    )


def _found(mpi: MpiInstallation) -> _Libraries:
    """Return the libraries of this host that the program uses.

    A simulated rank uses none: no adapter carries its messages, no ScaLAPACK knows its MPI, and each rank runs a
    copy of the program that has no libraries next to it.
    """
    if registry.named(mpi.name).simulates:
        return _Libraries()
    with ThreadPoolExecutor() as pool:  # each task mostly waits for the programs that it runs
        pool.submit(identity.facts, mpi)  # so that its result is cached
        fabric = pool.submit(fabrics.find, mpi.compiler)
        solver = pool.submit(scalapack.find, mpi)
        return _Libraries(blas.find(mpi.compiler), solver.result(), fabric.result())


def _known(directory: Path) -> NativeBuild | None:
    """Return the finished build in this folder, if there is one."""
    program, record = directory / cmake.PRODUCTS / PROGRAM, directory / "build.json"
    if not (os.access(program, os.X_OK) and record.is_file()):
        return None
    try:
        return read_json(record, NativeBuild)
    except UsageError:  # from another version of Scope: compile again
        return None
