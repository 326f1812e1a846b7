"""Which MPI installations are here: the one asked for, those on PATH, the one embedded as a wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scope.errors import UsageError
from scope.machine.machine import MpiInstallation

MACROS = (
    ("intelmpi", ("I_MPI_VERSION",)),
    ("mvapich", ("MVAPICH_VERSION",)),
    ("mvapich", ("MVAPICH2_VERSION",)),
    ("mpich", ("MPICH_VERSION",)),
    ("openmpi", ("OMPI_MAJOR_VERSION", "OMPI_MINOR_VERSION", "OMPI_RELEASE_VERSION")),
)
"""What an mpi.h defines to name itself; derivatives of MPICH define MPICH_VERSION too and come first."""

BANNERS = (
    ("openmpi", r"(?:Open MPI|OpenRTE|PRRTE)\D*([\d.]+)"),
    ("intelmpi", r"Intel\(R\) MPI Library.*?Version ([\d.]+)"),
    ("mpich", r"HYDRA build details:\s+Version:\s+([\d.\w]+)"),
)
"""What a launcher's --version says."""

PATIENCE_S = 30


@dataclass(frozen=True)
class Broken:
    """A compiler wrapper that is here but does not work."""

    compiler: Path
    reason: str


def find(asked: str | None = None) -> MpiInstallation:
    """Choose one installation: what is asked for, else the first on PATH, else the embedded one.

    `asked` is a name (`openmpi`, `mpich`, `embedded`) or, with a slash in it, a folder or the path of an mpicxx.
    Raises UsageError that names what is here when there is no such installation.
    """
    if asked is not None and "/" in asked:
        return _asked_for(Path(asked).expanduser())
    broken: list[Broken] = []
    without_launcher: list[MpiInstallation] = []
    others: list[MpiInstallation] = []
    for found in _identified():
        if isinstance(found, Broken):
            broken.append(found)
        elif asked not in (None, found.name, found.origin):
            others.append(found)
        elif not found.launcher:
            without_launcher.append(found)
        else:
            return _chosen(found, asked)
    if without_launcher:
        return _chosen(without_launcher[0], asked)
    allowed = ", ".join(f"{found.name} ({found.compiler})" for found in others) or "none"
    failures = "".join(f"; {each.compiler}: {each.reason}" for each in broken)
    what = f"--mpi {asked}: no such MPI" if asked else "no MPI compiler on PATH or beside Scope"
    raise UsageError(
        f"{what}; usable here: {allowed}{failures}; also allowed: an installation's folder or its mpicxx"
    )


def survey() -> tuple[list[MpiInstallation], list[Broken]]:
    """Return every working installation, in order of preference, and the wrappers that do not work."""
    everything = list(_identified())
    working = [each for each in everything if isinstance(each, MpiInstallation)]
    return working, [each for each in everything if isinstance(each, Broken)]


def _identified() -> Iterator[MpiInstallation | Broken]:
    """Yield each installation once, however many names lead to it."""
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


def _chosen(installation: MpiInstallation, asked: str | None) -> MpiInstallation:
    return installation.model_copy(update={"origin": "asked"}) if asked else installation


def identify(compiler: Path, origin: str) -> MpiInstallation | Broken:
    """Ask a compiler wrapper which MPI it compiles for, and find the launcher of that same MPI."""
    name, version, reason = _ask_header(compiler)
    if reason:
        return Broken(compiler, reason)
    return MpiInstallation(
        name=name,
        version=version,
        origin=origin,
        compiler=str(compiler),
        launcher=_launcher(compiler, name, version),
    )


def _asked_for(path: Path) -> MpiInstallation:
    compiler = path / "bin" / "mpicxx" if path.is_dir() else path
    if not os.access(compiler, os.X_OK) or compiler.is_dir():
        raise UsageError(f"--mpi {path}: {compiler} is no program; give an installation's folder or its mpicxx")
    installation = identify(compiler.absolute(), "asked")
    if isinstance(installation, Broken):
        raise UsageError(f"--mpi {path}: {installation.reason}; give an installation's folder or its mpicxx")
    return installation


def _candidates() -> Iterator[tuple[Path, str]]:
    """Yield the wrappers on PATH, in its order, then the embedded one."""
    embedded = Path(sysconfig.get_path("scripts"))
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        directory = Path(folder)
        if folder and directory != embedded and os.access(directory, os.R_OK | os.X_OK):
            for compiler in [directory / "mpicxx", *sorted(directory.glob("mpicxx.*"))]:
                if os.access(compiler, os.X_OK):
                    yield compiler, "path"
    if os.access(embedded / "mpicxx", os.X_OK):
        yield embedded / "mpicxx", "embedded"


def _ask_header(compiler: Path) -> tuple[str, str, str]:
    """Return (name, version, reason why not) from the macros of the mpi.h that the wrapper includes."""
    command = [str(compiler), "-E", "-dM", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-x", "c++", "-"]
    try:
        answer = subprocess.run(
            command, input="#include <mpi.h>\n", capture_output=True, text=True, timeout=PATIENCE_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", "", f"does not run: {getattr(error, 'strerror', None) or 'no answer'}"
    if answer.returncode != 0:
        return "", "", f"cannot compile: {_first_line(answer.stderr)}"
    macros = dict(re.findall(r"^#define (\w+) (.*?)\s*$", answer.stdout, re.MULTILINE))
    for name, keys in MACROS:
        if all(key in macros for key in keys):
            return name, ".".join(macros[key].strip('"') for key in keys), ""
    standard = ".".join(macros.get(key, "?") for key in ("MPI_VERSION", "MPI_SUBVERSION"))
    return "unknown", f"MPI {standard}", ""


def _launcher(compiler: Path, name: str, version: str) -> str:
    """Return the mpiexec beside the wrapper that says it is of the same MPI; empty when none does."""
    suffix = compiler.name.removeprefix("mpicxx")
    for candidate in (f"mpiexec{suffix}", f"mpirun{suffix}", "mpiexec", "mpiexec.hydra", "mpirun"):
        launcher = compiler.parent / candidate
        if os.access(launcher, os.X_OK) and _belongs(launcher, name, version):
            return str(launcher)
    return ""


def _belongs(launcher: Path, name: str, version: str) -> bool:
    try:
        answer = subprocess.run(
            [str(launcher), "--version"],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    for banner, pattern in BANNERS:
        if match := re.search(pattern, answer.stdout + answer.stderr):
            # Intel's launcher and header spell their versions differently; its name is proof enough.
            return banner == name and (name == "intelmpi" or match[1] == version)
    return name in ("unknown", "mvapich")


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "no message")
