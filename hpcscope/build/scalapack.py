"""Which ScaLAPACK the native program gets: a ScaLAPACK of the site that was made for the build's MPI.

The program loads it when a benchmark needs it; nothing else depends on it. It uses the benchmarks' BLAS.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hpcscope.build import elf, libraries
from hpcscope.build.cmake import NAME_LINKS
from hpcscope.build.libraries import MKLROOT
from hpcscope.build.mpi import registry
from hpcscope.machine.machine import MpiInstallation, Scalapack

PACKAGES = {"openmpi": "libscalapack-openmpi2.2", "mpich": "libscalapack-mpich2.2"}
"""Debian's packages, by the kind of MPI."""
_MKL_BLACS = {"openmpi": "blacs_openmpi_lp64", "mpich": "blacs_intelmpi_lp64"}
"""MKL's libraries for messages, by the kind of MPI."""
_VERSIONS = ("", ".2.2", ".2.1", ".2.0")
"""Suffixes of the library's name: without the development package only the name with a version exists."""
_MPI_NAMES = {"openmpi": r"libmpi\.so\.\d\d", "mpich": r"libmpi(ch)?\.so\.12"}
"""Names under which libraries ask for the MPI."""


def find(mpi: MpiInstallation) -> Scalapack | None:
    """Return the first ScaLAPACK that was made for an MPI of this kind; None if there is none."""
    return None if registry.named(mpi.name).simulates else _find(mpi.name, mpi.compiler)


def definitions(scalapack: Scalapack | None) -> list[str]:
    """Return the definitions that tell CMake of the library or of its absence."""
    return [
        f"-DSCOPE_SCALAPACK_LIBRARY={scalapack.library if scalapack else ''}",
        f"-DSCOPE_SCALAPACK_MPI_NAME={scalapack.mpi_name if scalapack else ''}",
        f"-DSCOPE_SCALAPACK_PARTS={';'.join(scalapack.parts) if scalapack else ''}",
    ]


def described(scalapack: Scalapack) -> str:
    """Return a description for users: version, where it comes from, path."""
    return f"ScaLAPACK {scalapack.version} ({scalapack.origin}), {scalapack.library}".replace("  ", " ")


def advice(mpi: MpiInstallation) -> str:
    """Return how to get a ScaLAPACK for this MPI."""
    return (
        f"algorithm.scalapack_* need a ScaLAPACK for {mpi.name}: apt-get install {PACKAGES[_kind(mpi.name)]}, or "
        "give pkg-config a file scalapack.pc"
    )


def link_mpi_name(program: Path, scalapack: Scalapack) -> None:
    """Put a link next to the program, from the MPI name that ScaLAPACK asks for to the program's MPI."""
    link = program.parent / NAME_LINKS / scalapack.mpi_name
    if link.exists():
        return
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    mapped = re.search(r"libmpi(?:ch)?\.so\S* => (\S+)", libraries.ask(["ldd", str(program)]))
    if mapped:
        link.symlink_to(Path(mapped[1]).resolve())


def _kind(name: str) -> str:
    family = registry.family_of(name)
    return family.name if family else "mpich"


@cache
def _find(name: str, compiler: str) -> Scalapack | None:
    kind = _kind(name)
    for origin, path in _candidates(kind, compiler):
        if origin == MKLROOT:
            return Scalapack(origin=origin, library=path, version="", mpi_name="", parts=_mkl(kind))
        asked = [library for library in elf.names(Path(path)).needed if re.fullmatch(_MPI_NAMES[kind], library)]
        if asked:
            own = _own_name(compiler)
            other = asked[0] if kind == "mpich" and own and asked[0] != own else ""
            library = Path(path).resolve()
            version = re.search(r"\.so\.([\d.]+)$", library.name)
            return Scalapack(
                origin=origin, library=str(library), version=version[1] if version else "", mpi_name=other
            )
    return None


def _candidates(kind: str, compiler: str) -> Iterator[tuple[str, str]]:
    """Yield (origin, path), the site's own first."""
    for package in ("scalapack", f"scalapack-{kind}"):
        for path in libraries.of_pkg_config(package):
            yield f"pkg-config {package}", path
    if parts := _mkl(kind):
        yield MKLROOT, parts[0]
    for name in ("libscalapack", f"libscalapack-{kind}"):
        for version in _VERSIONS:
            if path := libraries.of_compiler(compiler, f"{name}.so{version}"):
                yield "compiler's path", path


def _mkl(kind: str) -> list[str]:
    """Return MKL's ScaLAPACK and the libraries that it needs for this kind of MPI; empty without all of them.

    MKL's ScaLAPACK names neither an MPI nor its own parts, because each program is meant to link what it wants.
    """
    names = ("scalapack_lp64", "intel_lp64", "sequential", "core", _MKL_BLACS[kind])
    parts = [next(iter(libraries.of_mkl(name)), "") for name in names]
    return parts if all(parts) else []


def _own_name(compiler: str) -> str:
    """Return the name under which programs that an MPICH compiler links ask for MPI."""
    linked = re.search(r"-l(mpich|mpi)\b", libraries.told(compiler, "-show"))
    return f"lib{linked[1]}.so.12" if linked else ""
