"""Native programs that come compiled with Scope: one set for each MPI ABI, for every library with this ABI.

docs/decisions/0029. A wheel for a processor has them, made by packaging/wheel.py; a copy of the sources has none.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hpcscope.build import cmake, elf
from hpcscope.build.mpi import registry
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from hpcscope.rundirectory import read_json

FOLDER = "prebuilt"
"""Folder in the package: one folder per ABI, named as its programs ask for MPI, and programs without MPI."""
RECORD = "build.json"
"""File in each of these folders: how the programs were compiled."""
STANDARD = "libmpi_abi.so.1"
"""The ABI of the MPI standard, version 5."""
ABIS = {
    "libmpi.so.40": ("libmpi.so.40",),
    "libmpi.so.12": ("libmpi.so.12", "libmpich.so.12"),
    STANDARD: (STANDARD,),
}
"""The ABIs of Open MPI, MPICH and the standard, and the names of the libraries that have them.

A library's own ABI comes before the standard one, which today's libraries translate to it.
"""
OWN_FLAGS = ("CXX", "CXXFLAGS", "LDFLAGS")
"""Variables of users who want to compile with flags of their own."""


@dataclass(frozen=True)
class Prebuilt:
    """The programs for one ABI, and the MPI library of an installation with this ABI."""

    folder: Path
    library: Path

    @property
    def abi(self) -> str:
        """The name under which the programs ask for MPI."""
        return self.folder.name

    @property
    def record(self) -> NativeBuild:
        """How the programs were compiled."""
        return read_json(self.folder / RECORD, NativeBuild)

    def placed(self, links: dict[str, str]) -> Path:
        """Return a folder of the cache with the programs next to links to the libraries of this environment."""
        directory = cmake.cache_directory() / "build" / f"{self.record.fingerprint}-{self.abi}"
        links = {cmake.MPI_LINK: str(self.library.parent), **links}
        if self.library.name != self.abi:
            links[f"{cmake.NAME_LINKS}/{self.abi}"] = str(self.library)
        with cmake.locked(directory):
            return cmake.linked(directory, links, self.folder)


def folders() -> list[Path]:
    """Return the folders of programs that came with Scope."""
    return [_here() / abi for abi in ABIS if (_here() / abi / RECORD).is_file()]


def without_mpi(name: str) -> Path | None:
    """Return a program without MPI that came with Scope; None if none did, or if the user sets own flags."""
    file = _here() / name
    return file if file.is_file() and not any(map(os.environ.get, OWN_FLAGS)) else None


def _here() -> Path:
    return Path(__file__).resolve().parents[1] / FOLDER


def fitting(mpi: MpiInstallation, others: Sequence[Path] | None = None) -> Prebuilt | None:
    """Return the programs for the library of an installation; None if none fits, or if the user sets own flags.

    `others`: folders of programs to use instead of the package's.
    """
    if mpi.compiles and any(map(os.environ.get, OWN_FLAGS)):
        return None
    ready = folders() if others is None else others
    if not ready or not mpi.launcher or registry.named(mpi.name).simulates:
        return None
    family = registry.family_of(mpi.name)
    own = family.sonames if family else ()
    return next(
        (
            Prebuilt(folder, library)
            for folder in ready
            for name in ABIS[folder.name]
            if folder.name == STANDARD or name in own
            for library in _beside(Path(mpi.launcher), name)
        ),
        None,
    )


def _beside(launcher: Path, soname: str) -> list[Path]:
    """Return the libraries of this name in the prefix of a launcher, except those with another soname."""
    prefixes = dict.fromkeys((launcher.absolute().parent.parent, launcher.resolve().parent.parent))
    folders = ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu", "lib/release")
    paths = [prefix / folder / soname for prefix in prefixes for folder in folders]
    return [path for path in paths if path.is_file() and elf.names(path).soname == soname]
