"""CMake projects that come with Scope, compiled once per MPI, compiler, flags and sources, and kept in a cache.

A build contains no paths of the libraries that it loads. Each environment (a clone, a virtual environment) gets
the products next to links to its own libraries: docs/decisions/0013.
"""

import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TextIO

from hpcscope.build import identity
from hpcscope.build.compiler import system_compiler
from hpcscope.build.mpi import registry
from hpcscope.commands import captured
from hpcscope.errors import ScopeError, UsageError
from hpcscope.machine.machine import MpiInstallation
from hpcscope.private import home, refuse_foreign_programs
from hpcscope.rundirectory import expanded

BUILD_TYPE = "Baseline"
PATIENCE_S = 1800
SHARED = ("json", "timer")
"""Source folders next to each project's own that all projects compile."""
PRODUCTS = "products"
"""The folder with the products of a build, which contain no paths of its environment."""
MADE_OF = "made-of.json"
"""File next to the objects with the digests of the sources that they were made from."""
FINISHED = "finished"
"""A file that marks a complete build."""
MPI_LINK = "mpi"
"""Link next to the products of an environment, to the folder of its MPI library."""
NAME_LINKS = "mpi-name"
"""Folder next to them with another name for the MPI library, if one is needed."""


@dataclass(frozen=True)
class Project:
    """What is compiled, for which MPI, and what else the result depends on."""

    name: str
    """The name in error messages."""
    sources: Path
    mpi: MpiInstallation | None
    """The MPI; None: the compiler of this host is enough."""
    targets: tuple[str, ...]
    beside: tuple[str, ...] = SHARED
    """Folders next to its own whose files are compiled, too."""
    further_sources: tuple[Path, ...] = ()
    """Folders elsewhere whose files are compiled, too."""
    facts: tuple[str, ...] = ()
    """Facts beyond compiler, flags, MPI and sources, for example versions of libraries."""
    definitions: tuple[str, ...] = ()
    """`-DNAME=value` for CMake: all of them each time, since CMake remembers earlier values."""
    part: str = ""
    """The component that is installed and has a folder of its own; empty: the whole."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Names of links next to the products, and the libraries of this environment that they point to."""

    def __post_init__(self) -> None:
        """Raise UsageError if nothing can be compiled for the MPI."""
        if self.mpi is not None and not self.mpi.compiles:
            raise UsageError(
                f"{self.name}: must be compiled{self.purpose}, but {self.mpi.launcher} has no working mpicxx: "
                "install its development files and a C++20 compiler"
            )

    @cached_property
    def contents(self) -> Mapping[Path, str]:
        """The digest of each file that affects the products, in order, without tests and specifications."""
        beside = self.sources.parent
        folders = (self.sources, *(beside / name for name in self.beside), *self.further_sources)
        return {
            path: identity.digest(path)
            for folder in folders
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix != ".md" and not path.is_relative_to(folder / "tests")
        }

    @property
    def tools(self) -> tuple[str, ...]:
        """All that affects the objects, except sources and definitions, whose changes CMake detects."""
        environment = [os.environ.get(name, "") for name in ("CXX", "CXXFLAGS", "LDFLAGS")]
        return BUILD_TYPE, *environment, *self._compiler_facts

    @cached_property
    def compiler(self) -> list[str]:
        """The words with which CMake calls the compiler."""
        return [self.mpi.compiler] if self.mpi else system_compiler(f"{self.name} must be compiled")

    @property
    def _compiler_facts(self) -> tuple[str, ...]:
        return identity.facts(self.mpi) if self.mpi else identity.compiler_facts(self.compiler)

    @property
    def purpose(self) -> str:
        """For which MPI, in the words of error messages."""
        return f" for {self.mpi.name} {self.mpi.version}" if self.mpi else ""

    @property
    def library_folder(self) -> Path | None:
        """The folder of the MPI library, if one is used and has a folder of its own."""
        return identity.library_folder(self.mpi) if self.mpi else None

    @property
    def all_links(self) -> dict[str, str]:
        """`links`, and the link to the MPI library."""
        folder = self.library_folder
        return {**self.links, **({MPI_LINK: str(folder)} if folder else {})}

    @cached_property
    def fingerprint(self) -> str:
        """A hash that identifies this build."""
        below = (self.sources.parent, *(folder.parent for folder in self.further_sources))
        names = [
            str(next(path.relative_to(folder) for folder in below if path.is_relative_to(folder)))
            for path in self.contents
        ]
        return digest(*self.tools, *self.facts, *map(str, self.further_sources), *names, *self.contents.values())

    @property
    def directory(self) -> Path:
        """Where this build is in the cache."""
        return self.directory_of(self.part)

    def directory_of(self, part: str) -> Path:
        """Return where the build of another part of the same project is."""
        return cache_directory() / "build" / "-".join(filter(None, [self.fingerprint, part]))

    @property
    def objects(self) -> Path:
        """Where the objects of these sources are kept, so that only changed files are compiled again."""
        return cache_directory() / "objects" / digest(self.name, str(self.sources), *self.tools)


def digest(*texts: str) -> str:
    """Return a hash that identifies these texts."""
    return hashlib.sha256("\0".join(texts).encode(errors="surrogateescape")).hexdigest()[:16]


def sources_of(folder: str, name: str) -> Path:
    """Return a folder of sources that comes with Scope: inside an installed package, else next to it."""
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / folder, package.parent / folder):
        if (candidate / "CMakeLists.txt").is_file():
            return candidate
    raise ScopeError(f"{package / folder}: the sources of {name} are not here; install Scope again")


def cache_directory() -> Path:
    """Return $SCOPE_CACHE, else `scope` in the user's cache folder."""
    if asked := os.environ.get("SCOPE_CACHE"):
        return expanded("SCOPE_CACHE", asked).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or home() / ".cache") / "scope"


def private_cache(folder: Path) -> None:
    """Make a folder of the cache; ScopeError if another user could have put programs there."""
    cache_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
    for directory in [
        path for path in (*reversed(folder.parents), folder) if path.is_relative_to(cache_directory())
    ]:
        directory.mkdir(mode=0o755, exist_ok=True)
        refuse_foreign_programs(directory)


def compiled(project: Project, products: Sequence[str]) -> Path:
    """Return a folder with a project's products for this environment, compiled now if they are not in the cache.

    Raises as `compile_in` does.
    """
    with locked(project.directory):
        return linked(_made(project, products), project.all_links)


def made(project: Project, products: Sequence[str]) -> Path:
    """Return the folder in which `PRODUCTS` has what a project installs, compiled now if it is not in the cache.

    Raises as `compile_in` does.
    """
    with locked(project.directory):
        return _made(project, products)


def _made(project: Project, products: Sequence[str]) -> Path:
    if not kept(project, products):
        compile_in(project.directory, project)
        (project.directory / FINISHED).touch()
    return project.directory


def kept(project: Project, products: Sequence[str]) -> bool:
    """Return whether the cache has all products of exactly this project."""
    made = project.directory / PRODUCTS
    return (project.directory / FINISHED).is_file() and all((made / name).is_file() for name in products)


def linked(directory: Path, links: Mapping[str, str], made: Path | None = None) -> Path:
    """Return the folder that has a build's products next to links to the libraries of this environment.

    `made`: the folder of the products if it is not the build's own.
    """
    known = "\0".join(f"{name}={path}" for name, path in sorted(links.items()))
    environment = directory / f"environment-{digest(known)}"
    products = list((made or directory / PRODUCTS).iterdir())
    if all((environment / product.name).is_file() for product in products):
        return environment
    # Under a temporary name first, so that the folder is complete or absent.
    fresh = directory / "environment.new"
    for unfinished in (fresh, environment):
        shutil.rmtree(unfinished, ignore_errors=True)
    fresh.mkdir()
    for name, path in links.items():
        (fresh / name).parent.mkdir(exist_ok=True)
        (fresh / name).symlink_to(path)
    for product in products:
        # Not a symbolic link: the loader looks for libraries next to the program's real file.
        try:
            (fresh / product.name).hardlink_to(product)
        except OSError:
            shutil.copy2(product, fresh)
    fresh.rename(environment)
    return environment


def compile_in(directory: Path, project: Project) -> None:
    """Configure and build the project's targets into `PRODUCTS` of a folder; the log stays next to it.

    Raises ScopeError with the first error and the log's path if it does not compile, UsageError if CMake or Ninja
    is missing.
    """
    cmake, ninja = tool("cmake"), tool("ninja")
    log = directory / "build.log"
    for earlier in (directory / PRODUCTS, *directory.glob("environment-*")):
        shutil.rmtree(earlier, ignore_errors=True)
    # The wrapper writes this folder into every program. Told of it, CMake removes the path on
    # installation: some day the folder may belong to somebody else.
    folder = project.library_folder
    # The user's optimization level replaces the baseline's, which is last on the command line and would win.
    levels = ["-DCMAKE_CXX_FLAGS_BASELINE="] if re.search(r"(^| )-O", os.environ.get("CXXFLAGS", "")) else []
    configure = [
        *(cmake, "-S", str(project.sources), "-B", str(project.objects), "-G", "Ninja"),
        *(f"-DCMAKE_BUILD_TYPE={BUILD_TYPE}", f"-DCMAKE_CXX_COMPILER={';'.join(project.compiler)}"),
        *(f"-DCMAKE_MAKE_PROGRAM={ninja}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"),
        f"-DCMAKE_INSTALL_RPATH=$ORIGIN/{MPI_LINK};$ORIGIN/{NAME_LINKS}",
        *([f"-DCMAKE_BUILD_RPATH={folder}"] if folder else []),
        *levels,
        *project.definitions,
    ]
    make = [cmake, "--build", str(project.objects), "--target", *project.targets]
    install = [cmake, "--install", str(project.objects), "--prefix", str(directory / PRODUCTS)]
    install += ["--component", project.part] if project.part else []
    what = f"{project.name}{project.purpose}"
    try:
        with locked(project.objects), log.open("w") as output:
            _remove_misleading(project)
            for command in (configure, make, install):
                output.write(f"$ {' '.join(command)}\n")
                output.flush()
                _run(command, output)
                if command is configure:
                    contents = {str(path): content for path, content in project.contents.items()}
                    (project.objects / MADE_OF).write_text(json.dumps(contents))
    except subprocess.TimeoutExpired as error:
        raise ScopeError(f"{what}: not built in {PATIENCE_S} s; log: {log}") from error
    except subprocess.CalledProcessError as error:
        what = f"{project.name} does not build{project.purpose}"
        raise ScopeError(f"{what}: {_first_error(log)}; log: {log}") from error
    except OSError as error:
        raise ScopeError(f"{log}: cannot be written: {error.strerror}") from error


def _run(command: Sequence[str], output: TextIO) -> None:
    try:
        subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=True, timeout=PATIENCE_S)
    except OSError as error:
        raise ScopeError(f"{command[0]}: does not start: {error.strerror}") from error


def _remove_misleading(project: Project) -> None:
    """Remove objects if a file has changed without becoming newer (`cp -p`): Ninja compares only times."""
    # Also if CMake failed (a full disk): it would trust what it had noted until then.
    record = project.objects / MADE_OF
    try:
        made_of, made_ns = json.loads(record.read_text()), record.stat().st_mtime_ns
    except (OSError, ValueError):
        made_of, made_ns = {}, 0
    changed = [path for path, content in project.contents.items() if made_of.get(str(path)) != content]
    if not made_of or any(path.stat().st_mtime_ns <= made_ns for path in changed if str(path) in made_of):
        shutil.rmtree(project.objects)
        project.objects.mkdir(mode=0o755)
    record.unlink(missing_ok=True)


def tool(name: str) -> str:
    """Return the path of a build tool: the one installed with Scope, else the one on PATH."""
    here = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if here is None:
        raise UsageError(f"{name}: found neither next to Scope nor on PATH; install it (pip install {name})")
    return here


def compiler_version(mpi: MpiInstallation) -> str:
    """Return the first line that the compiler behind the wrapper prints about itself."""
    answer = captured([mpi.compiler, *registry.named(mpi.name).compiler_version], 60)
    return (answer.stdout or answer.stderr).partition("\n")[0].strip()


def flags(project: Project) -> str:
    """Return the flags that affect the code: those that CMake passed for every source, in their order."""
    commands = json.loads((project.objects / "compile_commands.json").read_text())
    # Sources that CMake generated are not part of what is measured.
    ours = [command for command in commands if not Path(command["file"]).is_relative_to(project.objects)]
    all_words = [shlex.split(command["command"])[1:] for command in ours or commands]
    first, *others = all_words or [[]]
    shared = set(first).intersection(*others)
    chosen = [word for word in first if word in shared]
    return " ".join(word for word in chosen if re.match(r"-([OfgDm]|std=|pthread|isystem)", word))


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Let one process at a time build in `directory`."""
    try:
        private_cache(directory)
        with directory.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        where = error.filename or directory
        raise ScopeError(
            f"{where}: cannot be written: {error.strerror}; set SCOPE_CACHE to another directory"
        ) from error


def _first_error(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    for pattern in (r"\berror:|undefined reference", r"CMake Error|\bError\b|FAILED|No space left"):
        for number, line in enumerate(lines):
            if re.search(pattern, line):
                # CMake prints its message on the lines after the word.
                return (
                    line if "CMake Error" not in line else " ".join([line, *filter(None, lines[number + 1 :])][:2])
                )
    return lines[-1] if lines else "no message"
