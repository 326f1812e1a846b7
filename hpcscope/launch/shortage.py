"""What this host is short of where programs do not start: what is needed, what was found, and what helps."""

from __future__ import annotations

import os
import resource
import tempfile

from hpcscope.units import size

SUFFICIENT_FILE_BYTES = 64 * 1024**2
"""Open MPI 5 needs files of 16 MiB (btl_sm_segment_size), other installations may be configured to need more."""
SUFFICIENT_MEMORY_BYTES = 1024**3
"""Address space of a rank with the libraries of its MPI."""
TEMPORARY_BYTES = 64 * 1024
OWN_FILES, FILES_OF_A_RANK = 32, 8
"""Open MPI 5.0.11 starts 2 ranks with 32 open files and none with 28."""
OWN_THREADS, THREADS_OF_A_RANK = 16, 8
MOST_THREADS, MANY_THREADS = 64, 1024
"""OpenBLAS has at most the first number; limits above the second are not looked at, since counting takes time."""
NUMPY_BYTES, THREAD_BYTES = 256 << 20, 40 << 20
"""Address space of numpy, and of each thread of its OpenBLAS: without it, it waits for ever."""


def own_shortage() -> str:
    """Return what this process lacks for the libraries of Scope; empty where it has all."""
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    memory_bytes = NUMPY_BYTES + THREAD_BYTES * threads
    return _limited("memory of a process", "v", resource.RLIMIT_AS, memory_bytes, 1024) or _without_threads(
        threads
    )


def shortage(ranks: int) -> str:
    """Return what may have kept a launcher from starting any rank on this host; empty where nothing is known."""
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
    if limit not in range(MANY_THREADS) or os.geteuid() == 0:
        return ""
    import psutil

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
