"""The native program, compiled once per MPI installation, compiler, flags and sources, and kept."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import scope
from scope.build import blas, fabrics
from scope.errors import ScopeError, UsageError
from scope.machine.machine import Blas, MpiInstallation, NativeBuild
from scope.rundirectory import read_json, write_json

PROGRAM = "scope-measure"
BUILD_TYPE = "Baseline"
PATIENCE_S = 600


def is_built(mpi: MpiInstallation) -> bool:
    """Say whether `build` would find this very build in the cache."""
    return _known(cache_directory() / "build" / fingerprint_of(mpi, source_directory())) is not None


def build(mpi: MpiInstallation) -> NativeBuild:
    """Return the native program for `mpi`, compiled now if this very one is not in the cache.

    Raises ScopeError with the first error and the log's path when it does not compile, UsageError when CMake
    or Ninja is missing.
    """
    sources = source_directory()
    algebra = blas.find(mpi.compiler)
    fingerprint = fingerprint_of(mpi, sources)
    directory = cache_directory() / "build" / fingerprint
    with _lock(directory):
        if (known := _known(directory)) is not None:
            # The library may choose other kernels on this host than where the program was compiled.
            return known.model_copy(update={"mpi": mpi, "blas": algebra})
        log = directory / "build.log"
        _compile(mpi, algebra, sources, directory, log)
        made = NativeBuild(
            fingerprint=fingerprint,
            program=str(directory / PROGRAM),
            compiler=_compiler_version(mpi),
            flags=_flags(directory),
            mpi=mpi,
            blas=algebra,
            built_unix_s=time.time(),
        )
        write_json(directory / "build.json", made)
        return made


def source_directory() -> Path:
    """Return the folder of the native program's sources: inside an installed package, else beside it."""
    package = Path(scope.__file__).resolve().parent
    for folder in (package / "measure", package.parent / "measure"):
        if (folder / "CMakeLists.txt").is_file():
            return folder
    raise ScopeError(f"{package / 'measure'}: the sources of {PROGRAM} are not here; install Scope again")


def cache_directory() -> Path:
    """Return $SCOPE_CACHE, else `scope` in the user's cache folder."""
    if asked := os.environ.get("SCOPE_CACHE"):
        return Path(asked).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scope"


def fingerprint_of(mpi: MpiInstallation, sources: Path) -> str:
    """Return what tells this build from any other: compiler, build type, flags, MPI, libraries and all sources."""
    digest = hashlib.sha256()
    environment = [os.environ.get(name, "") for name in ("CXX", "CXXFLAGS", "LDFLAGS")]
    algebra = blas.find(mpi.compiler)
    libraries = [algebra.library, algebra.prefix, algebra.version] if algebra else []
    libraries += [fact for fabric in fabrics.find(mpi.compiler) for fact in (*fabric.definitions, fabric.version)]
    installation = [mpi.name, mpi.version, mpi.compiler]
    for fact in (_compiler_version(mpi), BUILD_TYPE, *environment, *installation, *libraries):
        digest.update(fact.encode() + b"\0")
    for path in sorted(path for path in sources.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(sources)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _known(directory: Path) -> NativeBuild | None:
    """Return the finished build of this folder, if there is one."""
    program, record = directory / PROGRAM, directory / "build.json"
    if not (os.access(program, os.X_OK) and record.is_file()):
        return None
    try:
        return read_json(record, NativeBuild)
    except UsageError:  # of another version of Scope: compile again
        return None


def _compile(mpi: MpiInstallation, algebra: Blas | None, sources: Path, directory: Path, log: Path) -> None:
    cmake, ninja = tool("cmake"), tool("ninja")
    shutil.rmtree(directory / "CMakeFiles", ignore_errors=True)
    (directory / "CMakeCache.txt").unlink(missing_ok=True)
    configure = [
        *(cmake, "-S", str(sources), "-B", str(directory), "-G", "Ninja"),
        *(f"-DCMAKE_BUILD_TYPE={BUILD_TYPE}", f"-DCMAKE_CXX_COMPILER={mpi.compiler}"),
        *(f"-DCMAKE_MAKE_PROGRAM={ninja}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"),
        f"-DSCOPE_BLAS_LIBRARY={algebra.library if algebra else ''}",
        f"-DSCOPE_BLAS_PREFIX={algebra.prefix if algebra else ''}",
        *(definition for fabric in fabrics.find(mpi.compiler) for definition in fabric.definitions),
    ]
    try:
        with log.open("w") as output:
            for command in (configure, [cmake, "--build", str(directory), "--target", PROGRAM]):
                output.write(f"$ {' '.join(command)}\n")
                output.flush()
                subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=True, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise ScopeError(
            f"{PROGRAM} for {mpi.name} {mpi.version}: not built in {PATIENCE_S} s; log: {log}"
        ) from error
    except subprocess.CalledProcessError as error:
        raise ScopeError(
            f"{PROGRAM} does not build for {mpi.name} {mpi.version}: {_first_error(log)}; log: {log}"
        ) from error
    except OSError as error:
        raise ScopeError(f"{log}: cannot be written: {error.strerror}") from error


def _first_error(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    for pattern in (r"\berror:|undefined reference", r"CMake Error|\bError\b|FAILED|No space left"):
        for number, line in enumerate(lines):
            if re.search(pattern, line):
                # CMake puts its message on the lines after the word.
                return (
                    line if "CMake Error" not in line else " ".join([line, *filter(None, lines[number + 1 :])][:2])
                )
    return lines[-1] if lines else "no message"


def tool(name: str) -> str:
    """Return the path of a build tool: the one installed with Scope, else the one on PATH."""
    here = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if here is None:
        raise UsageError(f"{name}: not found beside Scope nor on PATH; install it (pip install {name})")
    return here


def _compiler_version(mpi: MpiInstallation) -> str:
    answer = subprocess.run([mpi.compiler, "--version"], capture_output=True, text=True, timeout=60)
    return (answer.stdout or answer.stderr).partition("\n")[0].strip()


def _flags(directory: Path) -> str:
    """Return the flags that decide the code, from the command that CMake made for a source."""
    commands = json.loads((directory / "compile_commands.json").read_text())
    words = shlex.split(commands[0]["command"])[1:] if commands else []
    return " ".join(word for word in words if re.match(r"-([OfgDm]|std=|pthread|isystem)", word))


@contextmanager
def _lock(directory: Path) -> Iterator[None]:
    """Let one process at a time build in `directory`."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with directory.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        where = error.filename or directory
        raise ScopeError(
            f"{where}: cannot be written: {error.strerror}; SCOPE_CACHE chooses another folder"
        ) from error
