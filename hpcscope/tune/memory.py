"""The largest order of the matrix that fits into memory."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

from hpcscope.machine.machine import Host
from hpcscope.machine.memory import available_bytes
from hpcscope.tune.candidates import Candidate

PER_PROCESS_BYTES = 96 << 20
"""Memory of a rank besides its matrix: program, MPI library with its buffers, BLAS."""
DOUBLE_BYTES = 8


@dataclass(frozen=True)
class HostMemory:
    """The memory of one host, and the number of ranks that share it."""

    bytes: float
    processes: int


def largest_n(hosts: Sequence[HostMemory], fraction: float, candidate: Candidate) -> int:
    """Return the largest order, a multiple of the block, that fits into a fraction of every host's memory.

    HPL's rule of thumb is 80 % of the memory (its tuning page); the other needs of the ranks are subtracted from
    that. 0 if nothing fits.
    """
    room = min((fraction * host.bytes / host.processes for host in hosts if host.processes), default=0.0)
    room -= PER_PROCESS_BYTES
    if room <= 0:
        return 0
    block = candidate.block
    n = isqrt(int(room * candidate.ranks / DOUBLE_BYTES)) // block * block
    while n > 0 and bytes_of_process(n, candidate) > room:
        n -= block
    return max(n, 0)


def bytes_of_process(n: int, candidate: Candidate) -> int:
    """Return the largest memory of a rank: its part of [A | b], three panels, and rows being exchanged."""
    block = candidate.block
    rows, columns = share(n, block, candidate.rows), share(n + 1, block, candidate.columns)
    panel = (rows + block + 1) * block
    return DOUBLE_BYTES * (rows * columns + 3 * panel + 3 * columns * block + 6 * n)


def share(count: int, block: int, parts: int) -> int:
    """Return the most items that one part gets when blocks are distributed cyclically."""
    blocks = -(-count // block)
    return min(count, -(-blocks // parts) * block)


def of_hosts(hosts: Sequence[Host], slots: Sequence[int], ranks: int) -> list[HostMemory]:
    """Return the memory of each host with its number of ranks when slots are filled host by host.

    Ranks beyond all slots are spread evenly. This host counts with its available memory, others with their
    installed memory.
    """
    placed, left = [], ranks
    for slot in slots:
        placed.append(min(slot, left))
        left -= placed[-1]
    placed = [count + -(-left // len(slots)) for count in placed]
    here = os.uname().nodename
    return [
        HostMemory(min(host.memory_bytes, available_bytes()) if host.name == here else host.memory_bytes, count)
        for host, count in zip(hosts, placed, strict=False)
        if host.memory_bytes
    ]
