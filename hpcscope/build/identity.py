"""What identifies compilers and MPI installations wherever they are: their content, not their path."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from hpcscope.build import libraries
from hpcscope.build.mpi import registry
from hpcscope.machine.machine import MpiInstallation

END_BYTES = 1 << 20
"""Length of begin and end of a file that identify it."""


def facts(mpi: MpiInstallation) -> tuple[str, ...]:
    """Return what a build depends on besides its sources and flags: the compiler and the MPI.

    Copies of one MPI have the same facts in every folder. An MPI without a folder of its own is identified by the
    path of its compiler wrapper.
    """
    shown = libraries.told(mpi.compiler, "-show")
    version = libraries.told(mpi.compiler, "--version").partition("\n")[0]
    compiler = shutil.which((shown.split() or [mpi.compiler])[0])
    passes = libraries.told(mpi.compiler, "-print-prog-name=cc1plus")
    content = [digest(Path(path)) for path in (compiler, passes) if path and Path(path).is_file()]
    folder = library_folder(mpi)
    if folder is None:
        where = [mpi.compiler, shown]
    else:
        own = [*sorted(_libraries(mpi, folder)), folder.parent / "include" / "mpi.h"]
        where = [shown.replace(str(folder.parent), "PREFIX"), *(digest(path) for path in own)]
    return mpi.name, mpi.version, version, *content, *where


def compiler_facts(compiler: Sequence[str]) -> tuple[str, ...]:
    """Return what a build without MPI depends on besides its sources and flags: the compiler."""
    version = libraries.ask([*compiler, "--version"]).partition("\n")[0]
    passes = libraries.ask([*compiler, "-print-prog-name=cc1plus"])
    programs = [shutil.which(compiler[-1]), passes]
    return version, *(digest(Path(path)) for path in programs if path and Path(path).is_file())


def library_folder(mpi: MpiInstallation) -> Path | None:
    """Return the folder of the library of an MPI that has a prefix of its own, as every wheel has; else None."""
    prefix = Path(mpi.compiler).parent.parent
    folder = prefix / "lib"
    if not (prefix / "include" / "mpi.h").is_file() or not _libraries(mpi, folder):
        return None
    shown = libraries.told(mpi.compiler, "-show").split()
    return folder if f"-I{prefix / 'include'}" in shown and f"-L{folder}" in shown else None


def _libraries(mpi: MpiInstallation, folder: Path) -> list[Path]:
    implementation = registry.named(mpi.name)
    names = (*implementation.sonames, *(implementation.family.sonames if implementation.family else ()))
    return [folder / name for name in names if (folder / name).is_file()]


def digest(path: Path) -> str:
    """Return a hash that identifies the content of a file; it is read once while the file stays the same.

    Of a large file, size, begin and end count: the begin of a program has its build ID, and reading a whole
    compiler takes 60 ms.
    """
    state = path.stat()
    return _digest(path, state.st_size, state.st_ino, state.st_mtime_ns)


@cache
def _digest(path: Path, size: int, *_state: int) -> str:
    with path.open("rb") as file:
        content = hashlib.sha256(file.read(END_BYTES))
        if size > 2 * END_BYTES:
            content.update(b"%d" % size)
            file.seek(-END_BYTES, os.SEEK_END)
        content.update(file.read())
    return content.hexdigest()
