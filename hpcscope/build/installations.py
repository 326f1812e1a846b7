"""The MPI installations of this machine: the one asked for, those on PATH, the one embedded as a wheel."""

import os
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hpcscope.build import prebuilt
from hpcscope.build.mpi import registry
from hpcscope.commands import captured
from hpcscope.errors import UsageError
from hpcscope.machine.machine import MpiInstallation
from hpcscope.rundirectory import expanded

TIMEOUT_S = 30
HEADERS = "#include <mpi.h>\n#ifdef SMPI_H\n#include <simgrid/version.h>\n#endif\n"
"""Source that defines the macros of an MPI's name and version; SimGrid has the version outside its mpi.h."""
LAUNCHERS = ("mpiexec", "mpirun")
"""Prefixes of the names of launchers."""
EMBEDDED = "embedded"
"""The name, and the origin, of the MPI that comes as a wheel."""


@dataclass(frozen=True)
class Broken:
    """A compiler wrapper that does not work."""

    compiler: Path
    reason: str


def find(asked: str | None = None) -> MpiInstallation:
    """Return one installation: the one asked for, else the first on PATH, else the embedded one.

    `asked` is a name (`openmpi`, `mpich`, `embedded`) or, with a slash in it, a folder or the path of an mpicxx.
    Raises UsageError that lists the installations if there is no such one.
    """
    if asked is not None and "/" in asked:
        return _asked_for(expanded("mpi", asked))
    if asked == EMBEDDED and (embedded := _embedded()) is not None:
        return _chosen(embedded, asked)  # without querying the compilers of all others
    broken: list[Broken] = []
    without_launcher: list[MpiInstallation] = []
    others: list[MpiInstallation] = []
    for installation in _identified():
        if isinstance(installation, Broken):
            broken.append(installation)
        elif asked not in _answers_to(installation):
            others.append(installation)
        elif not installation.launcher:
            without_launcher.append(installation)
        else:
            return _chosen(installation, asked)
    if without_launcher:
        return _chosen(without_launcher[0], asked)
    allowed = ", ".join(f"{installation.name} ({installation.compiler})" for installation in others) or "none"
    failures = "".join(f"; {wrapper.compiler}: {wrapper.reason}" for wrapper in broken)
    what = f"--mpi {asked}: no such MPI" if asked else "no MPI on PATH or next to Scope"
    raise UsageError(
        f"{what}; usable here: {allowed}{failures}; also allowed: the directory of an installation, or its mpicxx"
    )


def _answers_to(installation: MpiInstallation) -> tuple[str | None, ...]:
    """Return the values of `asked` that this installation satisfies; a simulator must be asked for by name."""
    if registry.named(installation.name).simulates:
        return (installation.name,)
    return None, installation.name, installation.origin


def survey() -> tuple[list[MpiInstallation], list[Broken]]:
    """Return every working installation, in order of preference, and the wrappers that do not work."""
    everything = list(_identified())
    working = [installation for installation in everything if isinstance(installation, MpiInstallation)]
    return working, [broken for broken in everything if isinstance(broken, Broken)]


def _identified() -> Iterator[MpiInstallation | Broken]:
    """Yield each installation once, even where several names lead to it."""
    seen: set[tuple[str, str, Path]] = set()
    for compiler, origin in _candidates():
        installation = identify(compiler, origin)
        if isinstance(installation, Broken):
            yield installation
            continue
        place = Path(installation.launcher or installation.compiler).resolve()
        if (key := (installation.name, installation.version, place)) not in seen:
            seen.add(key)
            yield installation


def _embedded() -> MpiInstallation | None:
    """Return the MPI installed with Scope; None if there is none that works."""
    compiler = next((compiler for compiler, origin in _candidates() if origin == EMBEDDED), None)
    installation = identify(compiler, EMBEDDED) if compiler else None
    return installation if isinstance(installation, MpiInstallation) and installation.launcher else None


def _chosen(installation: MpiInstallation, asked: str | None) -> MpiInstallation:
    return installation.model_copy(update={"origin": "asked"}) if asked else installation


def identify(compiler: Path, origin: str) -> MpiInstallation | Broken:
    """Return the MPI that a compiler wrapper compiles for, with the launcher of the same MPI.

    If programs that came with Scope fit its MPI, a launcher is enough, even if the wrapper cannot compile.
    """
    launcher = compiler.with_name(compiler.name.replace("mpicxx", LAUNCHERS[0]))
    alone = compiler.name.startswith(LAUNCHERS)
    name, version, reason = (
        ("", "", "no compiler; no precompiled program fits this MPI") if alone else _ask_header(compiler)
    )
    if reason:
        return _of_launcher(launcher, origin) or Broken(compiler, reason)
    return MpiInstallation(
        name=name,
        version=version,
        origin=origin,
        compiler=str(compiler),
        launcher=_launcher(compiler, name, version),
    )


def _of_launcher(launcher: Path, origin: str) -> MpiInstallation | None:
    """Return the MPI of a launcher if programs that came with Scope can use it; None if none of them fits."""
    recognized = registry.of_launcher(said(launcher) or "") if prebuilt.folders() else None
    if recognized is None:
        return None
    implementation, version = recognized
    path = str(launcher.absolute())
    found = MpiInstallation(name=implementation.name, version=version, origin=origin, compiler=path, launcher=path)
    return found if prebuilt.fitting(found) else None


def _asked_for(path: Path) -> MpiInstallation:
    known = [path / "bin" / name for name in ("mpicxx", *LAUNCHERS)] if path.is_dir() else [path]
    compiler = next((one for one in known if os.access(one, os.X_OK)), known[0])
    if not os.access(compiler, os.X_OK) or compiler.is_dir():
        raise UsageError(
            f"--mpi {path}: {compiler} is not a program; must be the directory of an installation, or an mpicxx"
        )
    installation = identify(compiler.absolute(), "asked")
    if isinstance(installation, Broken):
        raise UsageError(
            f"--mpi {path}: {installation.reason}; must be the directory of an installation, or an mpicxx"
        )
    return installation


def _candidates() -> Iterator[tuple[Path, str]]:
    """Yield the wrappers on PATH, in its order, then the embedded one."""
    embedded = Path(sysconfig.get_path("scripts"))
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        directory = Path(folder)
        if folder and directory != embedded and os.access(directory, os.R_OK | os.X_OK):
            names = [*registry.compilers(), *(LAUNCHERS[:1] if prebuilt.folders() else ())]
            for name in names:
                for compiler in [directory / name, *sorted(directory.glob(f"{name}.*"))]:
                    if os.access(compiler, os.X_OK):
                        yield compiler, "path"
    for name in ("mpicxx", LAUNCHERS[0]):
        if os.access(embedded / name, os.X_OK):
            yield embedded / name, EMBEDDED


def _ask_header(compiler: Path) -> tuple[str, str, str]:
    """Return name and version from the macros of the wrapper's mpi.h, and why it has none (empty if it has)."""
    command = [str(compiler), "-E", "-dM", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-x", "c++", "-"]
    try:
        answer = captured(command, TIMEOUT_S, input=HEADERS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", "", f"does not run: {getattr(error, 'strerror', None) or 'no answer'}"
    if answer.returncode != 0:
        return "", "", f"cannot compile: {_first_line(answer.stderr) or f'exit code {answer.returncode}'}"
    macros = dict(re.findall(r"^#define (\w+) (.*?)\s*$", answer.stdout, re.MULTILINE))
    return *registry.of_header(macros), ""


def _launcher(compiler: Path, name: str, version: str) -> str:
    """Return the mpiexec next to the wrapper that belongs to the same MPI; empty if there is none."""
    implementation = registry.named(name)
    suffix = compiler.name.removeprefix(implementation.compiler)
    plain = implementation.launchers
    for candidate in dict.fromkeys([*(f"{each}{suffix}" for each in plain), *plain]):
        launcher = compiler.parent / candidate
        if os.access(launcher, os.X_OK) and _belongs(launcher, name, version):
            return str(launcher)
    return ""


def _belongs(launcher: Path, name: str, version: str) -> bool:
    printed = said(launcher)
    if printed is None:
        return False
    recognized = registry.of_launcher(printed)
    if recognized is None:  # a launcher without a banner may belong to an MPI whose launcher prints none
        return not registry.named(name).banner
    implementation, its_version = recognized
    return implementation.name == name and (implementation.banner_differs or its_version == version)


def said(launcher: Path) -> str | None:
    """Return what a launcher prints about itself; None if it does not run."""
    try:
        answer = captured([str(launcher), "--version"], TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout + answer.stderr


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
