"""What this host is short of when programs do not start: what is needed, what was found, and what helps."""

import os
import resource
import tempfile

from hpcscope.machine import memory_copies
from hpcscope.units import size

SUFFICIENT_FILE_BYTES = 64 * 1024**2
"""Open MPI 5 needs files of 16 MiB (btl_sm_segment_size); other installations may be configured to need more."""
SUFFICIENT_MEMORY_BYTES = 1024**3
"""Address space of a rank with the libraries of its MPI."""
TEMPORARY_BYTES = 64 * 1024
SHARED_FOLDER = "/dev/shm"
SHARED_BYTES, SHARED_BYTES_OF_A_RANK = 16 << 20, 4 << 20
"""Open MPI 5.0.11 wants 16 MiB free; MPICH 5.0.2 starts 2 ranks with 8 MiB, and 8 ranks with 64 MiB."""
OWN_FILES, FILES_OF_A_RANK = 32, 8
"""Open MPI 5.0.11 starts 2 ranks with 32 open files and none with 28."""
OWN_THREADS, THREADS_OF_A_RANK = 16, 8
MOST_THREADS, MANY_THREADS = 64, 1024
"""OpenBLAS has at most MOST_THREADS; limits above MANY_THREADS are not checked, since counting takes time."""
NUMPY_BYTES, THREAD_BYTES = 256 << 20, 40 << 20
"""Address space of numpy and of each thread of its OpenBLAS, which hangs without it."""


def own_shortage() -> str:
    """Return what this process lacks for the libraries of Scope; empty if nothing is lacking."""
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    memory_bytes = NUMPY_BYTES + THREAD_BYTES * threads
    return _limited("memory of a process", "v", resource.RLIMIT_AS, memory_bytes, 1024) or _without_threads(
        threads
    )


def shortage(ranks: int) -> str:
    """Return what may have kept a launcher from starting any rank on this host; empty if nothing is known."""
    return (
        _limited("size of a file", "f", resource.RLIMIT_FSIZE, SUFFICIENT_FILE_BYTES, 1024)
        or few_open_files(ranks)
        or _limited("memory of a process", "v", resource.RLIMIT_AS, SUFFICIENT_MEMORY_BYTES, 1024)
        or _without_threads(OWN_THREADS + THREADS_OF_A_RANK * ranks)
        or _without_temporary_files()
        or _without_shared_memory(SHARED_BYTES + SHARED_BYTES_OF_A_RANK * ranks)
    )


def few_open_files(ranks: int) -> str:
    """Return whether this process may open too few files to start ranks; empty if it may open enough."""
    return _limited("open files of a process", "n", resource.RLIMIT_NOFILE, OWN_FILES + FILES_OF_A_RANK * ranks)


def hindrance(bus_error: bool) -> str:
    """Return what on this host may explain why a case died or hung; empty if nothing is known.

    `bus_error`: a rank used a page of a mapped file (SIGBUS) for which there is no room.
    """
    if bus_error:
        return _without_shared_memory(None)
    if words := memory_copies.refusal():
        return (
            f"{memory_copies.CALL}: {words}: large messages inside this host need this call. Allow it (docker"
            " run --cap-add SYS_PTRACE), or turn off copies between processes (OMPI_MCA_smsc=^cma)"
        )
    return ""


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
    used = sum(process.info["num_threads"] or 0 for process in mine if process.info["uids"].real == os.getuid())
    if limit - used >= needed:
        return ""
    found = f"expected room for {needed} more, but {used} of {limit} are in use"
    return f"threads of this user: {found}; run `ulimit -u {used + needed}`"


def _without_temporary_files() -> str:
    folder = os.environ.get("TMPDIR") or tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(TEMPORARY_BYTES))
    except OSError as error:
        room = f"expected room for {size(TEMPORARY_BYTES)}, found: {error.strerror}"
        return f"{folder}: {room}; free some space, or set TMPDIR to another directory"
    return ""


def _without_shared_memory(needed: int | None) -> str:
    """Say how much room for shared memory is free if that is less than `needed` (None: in any case)."""
    try:
        room = os.statvfs(SHARED_FOLDER)
    except OSError as error:
        found = error.strerror or str(error)
    else:
        free = room.f_bavail * room.f_frsize
        if needed is not None and (free >= needed or not room.f_blocks):
            return ""
        found = f"{size(free >> 10 << 10)} free of {size(room.f_blocks * room.f_frsize)}"
    expected = "" if needed is None else f"expected {size(needed)} or more, "
    remedy = f"free some space, or enlarge {SHARED_FOLDER} (docker run --shm-size 1g)"
    return f"{SHARED_FOLDER}: {expected}found {found}; {remedy}"
