"""The clock for application programs: a library for C and Fortran, headers for C++, regions for the monitor."""

import shutil
from pathlib import Path

from hpcscope.build import cmake
from hpcscope.errors import ScopeError

NAME = "scope-timer"
INCLUDES = Path("include/scope-timer")
HEADER = INCLUDES / "scope_timer.h"
PACKAGE = "scope-timer.pc"


def build() -> Path:
    """Return the prefix that has include/, lib/ and share/, compiled now if this exact build is not in the cache.

    Raises ScopeError with the first error and the log's path if it does not compile, UsageError if the compiler,
    CMake or Ninja is missing.
    """
    sources = cmake.sources_of(NAME, NAME)
    project = cmake.Project(NAME, sources, None, ("shared", "static"), beside=("timer",))
    return cmake.made(project, [str(HEADER)]) / cmake.PRODUCTS


def install(prefix: Path) -> None:
    """Build the library and copy it below a prefix; files of the same names there are replaced.

    Raises as `build` does, and ScopeError if the prefix cannot be written.
    """
    try:
        shutil.copytree(build(), prefix, symlinks=True, dirs_exist_ok=True)
    except shutil.Error as error:
        _, to, reason = error.args[0][0]
        raise ScopeError(f"{to}: cannot be written: {reason}") from error
    except OSError as error:
        raise ScopeError(f"{error.filename or prefix}: cannot be written: {error.strerror}") from error


def packages(prefix: Path) -> Path:
    """Return the folder of the pkg-config file below a prefix."""
    return next(prefix.rglob(PACKAGE)).parent
