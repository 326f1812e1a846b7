"""What a host must have before any command begins: a clock that calendars know, and memory for the libraries."""

from __future__ import annotations

import os
import resource
import time

FIRST_YEAR, LAST_YEAR = 1970, 2261
"""What counts nanoseconds in 64 bits ends in 2262."""
MEMORY_BYTES, MEMORY_PER_THREAD_BYTES = 256 << 20, 40 << 20
"""Address space of numpy, whose OpenBLAS has a thread for each core. With less it waits for memory for ever."""
MOST_THREADS = 64


def refusal() -> str:
    """Return what no command can do without; empty where all is there."""
    if not FIRST_YEAR <= (found := time.gmtime().tm_year) <= LAST_YEAR:
        allowed = f"expected a year from {FIRST_YEAR} to {LAST_YEAR}, found {found}"
        return f"the clock of this host: {allowed}; set it (timedatectl set-time)"
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = MEMORY_BYTES + MEMORY_PER_THREAD_BYTES * min(os.cpu_count() or 1, MOST_THREADS)
    if limit == resource.RLIM_INFINITY or limit >= needed:
        return ""
    allowed = f"expected {needed >> 20} MiB or more, found {limit >> 20} MiB"
    return f"memory of a process: {allowed}; run `ulimit -v {needed >> 10}`"
