"""The parts of a command: its launcher, the program that it starts, and the MPI of both."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hpcscope.build import installations, libraries
from hpcscope.build.mpi import registry
from hpcscope.build.mpi.implementation import MpiFamily
from hpcscope.errors import UsageError
from hpcscope.machine.machine import MpiInstallation

LAUNCHERS = re.compile(r"(mpirun|mpiexec|orterun|prterun)([.-]\w+)*$")
"""Launchers that forward environment variables on request."""
_LINKED = re.compile(r"^\s*(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A command and its parts."""

    words: tuple[str, ...]
    launcher: int | None
    """Index of the launcher among the words; None without a launcher, or if it forwards its environment."""
    mpi: MpiInstallation
    """MPI installation of the program."""
    family: MpiFamily | None = None
    """MPI family of the launcher; None without a launcher, or if not known."""

    def monitored(
        self, settings: Mapping[str, str], inherited: Iterable[str] = ()
    ) -> tuple[list[str], dict[str, str]]:
        """Return the words and the additional variables that give the processes these settings.

        If possible, the launcher is told the settings, so that it is not monitored itself and other hosts get the
        settings, too. `inherited`: names of variables of the launcher's environment to pass on.
        """
        if self.launcher is None or self.family is None:
            return list(self.words), dict(settings)
        place = self.launcher + 1
        told = [*self.family.exports(settings), *self.family.inherits(inherited)]
        return [*self.words[:place], *told, *self.words[place:]], {}


@dataclass(frozen=True)
class Linked:
    """The MPI library that a program was linked with."""

    program: Path
    soname: str
    library: Path | None
    """None if the loader does not find it on this host."""


def recognize(
    command: Sequence[str], asked: str | None, environment: Mapping[str, str], directory: Path
) -> Program:
    """Return what a command starts.

    The MPI is the one asked for, else the one that the first program among the words is linked with, else the
    launcher's, else the one that Scope would choose itself. Raises UsageError if the command does not exist, or if
    the MPI of the program is not installed here.
    """
    if not command:
        raise UsageError("no command was given: put it after --, such as `scope monitor -- mpiexec -n 4 ./app`")
    first = located(command[0], environment, directory)
    if first is None:
        raise UsageError(f"{command[0]}: no such command; must be a program on PATH or a path")
    launcher, start = _launcher(command, environment, directory)
    recognized = registry.of_launcher(installations.said(start) or "") if start else None
    owner = recognized[0] if recognized else None
    family = owner.family if owner else None
    if asked is not None:
        return Program(tuple(command), launcher, installations.find(asked), family)
    linked = next(
        (
            found
            for word in command[0 if launcher is None else launcher + 1 :]
            if (path := located(word, environment, directory)) and (found := linked_with(path, environment))
        ),
        None,
    )
    mpi = _of_library(linked, start) if linked else _of_launcher(start)
    if linked and owner and registry.family_of(mpi.name) is not family:
        raise UsageError(
            f"{command[launcher or 0]}: is the launcher of {owner.name}, but {linked.program} uses {mpi.name};"
            " a program must be started by its own MPI"
        )
    return Program(tuple(command), launcher, mpi, family)


def located(word: str, environment: Mapping[str, str], directory: Path) -> Path | None:
    """Return the program that a word names, on PATH or in the directory; None if there is none."""
    if "/" in word:
        path = directory / word
        return path if path.is_file() and os.access(path, os.X_OK) else None
    found = shutil.which(word, path=environment.get("PATH"))
    return Path(found) if found else None


def linked_with(program: Path, environment: Mapping[str, str]) -> Linked | None:
    """Return the MPI library of a program; None if it has none, like scripts, static and other programs."""
    try:
        with program.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return None
    except OSError:
        return None
    clean = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
    for soname, path in _LINKED.findall(libraries.ask(["ldd", str(program)], clean)):
        if registry.of_library(soname):
            return Linked(program, soname, Path(path) if path.startswith("/") else None)
    return None


def _launcher(
    command: Sequence[str], environment: Mapping[str, str], directory: Path
) -> tuple[int | None, Path | None]:
    """Return index and path of the first word that is a launcher's name."""
    for place, word in enumerate(command):
        if LAUNCHERS.fullmatch(Path(word).name) and (path := located(word, environment, directory)):
            return place, path
    return None, None


def _of_library(linked: Linked, launcher: Path | None) -> MpiInstallation:
    """Return the installation whose library a program uses."""
    names = registry.of_library(linked.soname)
    alike: list[MpiInstallation] = []
    for installation in _known(launcher, linked.library):
        if installation.name in names:
            if _has(installation, launcher):
                return installation
            alike.append(installation)
    if not alike:
        raise UsageError(
            f"{linked.program}: uses {linked.soname} ({' or '.join(names)}), but no compiler of this MPI is "
            "available to build the monitor; name an installation with --mpi DIRECTORY"
        )
    # Prefer the innermost installation whose directory contains the library.
    above = linked.library.resolve().parents if linked.library else ()
    homes = [
        (len(home.parts), place)
        for place, installation in enumerate(alike)
        if (home := Path(installation.compiler).absolute().parent.parent.resolve()) in above
    ]
    return alike[max(homes)[1]] if homes else alike[0]


def _of_launcher(launcher: Path | None) -> MpiInstallation:
    """Return the installation of a launcher or, without one, the installation that Scope would choose itself."""
    known = _known(launcher, None) if launcher is not None else ()
    return next((mpi for mpi in known if _has(mpi, launcher)), None) or installations.find()


def _has(installation: MpiInstallation, launcher: Path | None) -> bool:
    own = installation.launcher
    return launcher is not None and own != "" and Path(own).resolve() == launcher.resolve()


def _known(launcher: Path | None, library: Path | None) -> Iterator[MpiInstallation]:
    """Yield the installations on this host: next to the launcher, around the library, and those that Scope knows.

    Each is queried only when needed, because a compiler takes tens of milliseconds to answer.
    """
    folders = [launcher.absolute().parent] if launcher else []
    folders += [folder / "bin" for folder in library.resolve().parents[:4]] if library else []
    compilers = [folder / "mpicxx" for folder in folders if os.access(folder / "mpicxx", os.X_OK)]
    for compiler in compilers:
        if isinstance(installation := installations.identify(compiler, "path"), MpiInstallation):
            yield installation
    yield from installations.survey()[0]
