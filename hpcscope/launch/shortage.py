"""What this host is short of where programs do not start: what is needed, what was found, and what helps."""

from __future__ import annotations

import os
import resource
import tempfile

import psutil

from hpcscope.units import size

SUFFICIENT_FILE_BYTES = 64 * 1024**2
"""Open MPI 5 needs files of 16 MiB (btl_sm_segment_size), other installations may be configured to need more."""
SUFFICIENT_MEMORY_BYTES = 1024**3
"""Address space of a rank with the libraries of its MPI."""
TEMPORARY_BYTES = 64 * 1024
OWN_FILES, FILES_OF_A_RANK = 32, 8
"""Open MPI 5.0.11 starts 2 ranks with 32 open files and none with 28."""
OWN_THREADS, THREADS_OF_A_RANK = 16, 8


def shortage(ranks: int) -> str:
    """Return what may keep a launcher from starting ranks on this host; empty where nothing is known to lack.

    Launches may succeed all the same: it explains those in which no rank began.
    """
    return (
        _limited("size of a file", "f", resource.RLIMIT_FSIZE, SUFFICIENT_FILE_BYTES, 1024)
        or _limited("open files of a process", "n", resource.RLIMIT_NOFILE, OWN_FILES + FILES_OF_A_RANK * ranks)
        or _limited("memory of a process", "v", resource.RLIMIT_AS, SUFFICIENT_MEMORY_BYTES, 1024)
        or _without_threads(OWN_THREADS + THREADS_OF_A_RANK * ranks)
        or _without_temporary_files()
    )


def _limited(what: str, option: str, limit: int, needed: int, unit: int = 0) -> str:
    """Say that a limit is below what is needed; `unit`: bytes that `ulimit` counts as 1, else 0."""
    found, _ = resource.getrlimit(limit)
    if found == resource.RLIM_INFINITY or found >= needed:
        return ""
    shown = [size(count) if unit else str(count) for count in (needed, found)]
    return f"{what}: expected {shown[0]} or more, found {shown[1]}; run `ulimit -{option} {needed // (unit or 1)}`"


def _without_threads(needed: int) -> str:
    limit, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if limit == resource.RLIM_INFINITY or os.geteuid() == 0:
        return ""
    mine = psutil.process_iter(["uids", "num_threads"])
    used = sum(one.info["num_threads"] or 0 for one in mine if one.info["uids"].real == os.getuid())
    if limit - used >= needed:
        return ""
    found = f"expected room for {needed}, found {used} of {limit}"
    return f"threads of this user: {found}; run `ulimit -u {used + needed}`"


def _without_temporary_files() -> str:
    folder = os.environ.get("TMPDIR") or tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(TEMPORARY_BYTES))
    except OSError as error:
        room = f"expected room for {size(TEMPORARY_BYTES)}, found: {error.strerror}"
        return f"{folder}: {room}; free some, or set TMPDIR to another directory"
    return ""
