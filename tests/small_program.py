"""The native program with a few of its benchmarks: to compile all of them takes minutes."""

from __future__ import annotations

import shutil
from pathlib import Path

from hpcscope.build import native

SHARED = ("json", "timer", "collectives", native.ACTIVE_MESSAGES)
"""Sources that the native program shares with the other native parts."""


def sources(folder: Path, *kept: str) -> Path:
    """Copy the sources of the native program into a folder, with the benchmarks that `kept` names as patterns.

    Returns the copy of `native.source_directory()`. What benchmarks share stays where one of them is kept, or
    where those of another level need it.
    """
    for name in ("measure", *SHARED):
        shutil.copytree(native.source_directory().parent / name, folder / name)
    benchmarks = folder / "measure/src/benchmarks"
    shutil.rmtree(benchmarks / "application")
    shutil.rmtree(folder / "measure/src/programs")  # those are applications, too
    for adapter in native.FURTHER_TRANSPORTS:  # of network.*
        (folder / f"measure/src/transports/{adapter}.cpp").unlink()
    for source in benchmarks.glob("*/*.*"):
        name = source.relative_to(benchmarks).with_suffix("")
        shared = source.suffix == ".hpp" or (source.suffix == ".cpp" and source.with_suffix(".hpp").exists())
        if not shared and not any(name.match(pattern) for pattern in kept):
            source.unlink()
    for level in ("algorithm", "storage", "network", "device", "node", "operation", "mpi"):
        own = [path for path in (benchmarks / level).glob("*.cpp") if not path.with_suffix(".hpp").exists()]
        if not own and not _needed(benchmarks, level):
            shutil.rmtree(benchmarks / level)
    return folder / "measure"


def _needed(benchmarks: Path, level: str) -> bool:
    """Whether a source of another level includes one of this."""
    others = [path for path in benchmarks.rglob("*.[ch]pp") if path.relative_to(benchmarks).parts[0] != level]
    return any(f'"benchmarks/{level}/' in path.read_text() for path in others)
