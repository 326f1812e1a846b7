"""The kinds of MPI routines by which a profile adds up time."""

import re
from functools import cache
from typing import Literal, get_args

Kind = Literal[
    "send", "receive", "send and receive", "wait", "collective", "one-sided", "file", "probe", "setup", "other"
]

KINDS: tuple[Kind, ...] = get_args(Kind)
"""All kinds in reading order."""

_PATTERNS: list[tuple[Kind, str]] = [
    ("send and receive", r"I?sendrecv|Start(all)?$|Pready"),
    ("send", r"(I|P)?[bsr]?send(_init)?$"),
    ("receive", r"(I|P)?m?recv(_init)?$"),
    ("wait", r"(Wait|Test)(all|any|some)?$|Request_get_status|Parrived"),
    ("probe", r"I?m?probe$"),
    ("setup", r"(Comm|Cart|Graph|Dist_graph|Group|Type|Op|Info|Session|Intercomm|Errhandler|Init|Finalize|Dims)"),
    ("setup", r"(Win_(create|allocate|free|attach|detach)|File_(open|close|set|get)|Request_free|Cancel)"),
    ("one-sided", r"(R?(put|get|accumulate|get_accumulate)$|Fetch_and_op|Compare_and_swap|Win_)"),
    ("file", r"File_"),
    ("collective", r"(I?neighbor_|I?all(reduce|gather|toall)|I?(barrier|bcast|gather|scatter|reduce|e?x?scan))"),
]

SYNCHRONIZING = frozenset(
    {
        *("MPI_Barrier", "MPI_Allreduce", "MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv"),
        *("MPI_Alltoallw", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block"),
    }
)
"""Blocking collectives that no rank can leave before the last rank has entered."""

AT_ROOT = frozenset({"MPI_Scatter", "MPI_Scatterv", "MPI_Iscatter", "MPI_Iscatterv"})
"""Routines whose bytes are counted only at the root, for all ranks together (docs/method/monitor.md)."""


@cache
def kind(routine: str) -> Kind:
    """Return the kind of a routine: `MPI_Isend` is a send, `MPI_Waitall` a wait, also in large-count forms."""
    name = plain(routine).removeprefix("MPI_")
    for one, pattern in _PATTERNS:
        if re.match(pattern, name, re.IGNORECASE):
            return one
    return "other"


def starts_request(routine: str) -> bool:
    """Return whether a routine only starts a request or sets one up: `MPI_Isend`, `MPI_Bcast_init`."""
    return re.match(r"MPI_I(?!nit|probe|mprobe)\w+|MPI_\w+_init$", plain(routine)) is not None


def plain(routine: str) -> str:
    """Return the routine without the suffix of large-count forms: `MPI_Send_c` becomes `MPI_Send`."""
    return routine.removesuffix("_c") if routine.startswith("MPI_") else routine
