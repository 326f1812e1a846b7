"""Where a shared library and its header are on this host, according to pkg-config or the compiler."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from hpcscope.commands import captured

PATIENCE_S = 30
MKLROOT = "MKLROOT"
"""The environment variable that names the folder of Intel's MKL."""


def of_mkl(name: str) -> list[str]:
    """Return the shared libraries of this name in the MKL of the environment: `rt` is libmkl_rt.so."""
    root = os.environ.get(MKLROOT)
    folders = [Path(root, folder) for folder in ("lib", "lib/intel64")] if root else []
    return [str(path) for folder in folders for path in sorted(folder.glob(f"libmkl_{name}.so*"))]


def of_pkg_config(package: str) -> list[str]:
    """Return the shared libraries that pkg-config names for a package."""
    words = ask(["pkg-config", "--libs", package]).split()
    if not words:
        return []
    folders = [word[2:] for word in words if word.startswith("-L")]
    folders.append(ask(["pkg-config", "--variable=libdir", package]))
    names = [f"lib{word[2:]}.so" for word in words if word.startswith("-l")]
    return [
        str(Path(folder, name)) for name in names for folder in folders if folder and Path(folder, name).is_file()
    ]


def of_compiler(compiler: str, name: str) -> str:
    """Return the library that the compiler would link; empty if it knows none."""
    searched = re.search(r"^libraries: =(.*)$", told(compiler, "-print-search-dirs"), re.MULTILINE)
    found = (Path(folder, name) for folder in (searched[1].split(":") if searched else []))
    return next((str(path) for path in found if path.is_absolute() and path.is_file()), "")


def told(compiler: str, word: str) -> str:
    """Return what a compiler prints for an option; asked once while its program and LIBRARY_PATH stay the same."""
    path = Path(shutil.which(compiler) or compiler)
    changed_ns = path.stat().st_mtime_ns if path.exists() else 0
    return _told(compiler, word, changed_ns, os.environ.get("LIBRARY_PATH", ""))


@cache
def _told(compiler: str, word: str, _changed_ns: int, _library_path: str) -> str:
    return ask([compiler, word])


def header_folder(compiler: str, package: str, header: str) -> str:
    """Return the folder of `header` according to pkg-config, else the compiler; empty if neither finds it."""
    folder = ask(["pkg-config", "--variable=includedir", package])
    if folder and Path(folder, header).is_file():
        return folder
    flags = ask(["pkg-config", "--cflags-only-I", package]).split()
    included = ask([compiler, *flags, "-M", "-x", "c++", "-include", header, "/dev/null"]).split()
    return next((path.removesuffix(f"/{header}") for path in included if path.endswith(f"/{header}")), "")


def ask(command: list[str], variables: Mapping[str, str] | None = None) -> str:
    """Return what a program prints; empty if it is missing, fails or takes too long.

    `variables` replace the environment.
    """
    try:
        answer = captured(command, PATIENCE_S, env=variables)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
