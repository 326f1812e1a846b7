"""A minimal C program that shows wrong data of one MPI routine without Scope, and what it prints."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hpcscope.catalog.benchmark import Value
from hpcscope.catalog.catalog import Catalog
from hpcscope.plan.case import Case

TEMPLATE = Path(__file__).with_name("wrong_data.c")
MODES = {"standard": "MPI_Send", "buffered": "MPI_Bsend", "synchronous": "MPI_Ssend", "ready": "MPI_Rsend"}
WAYS = ("send", "completion", "call")
"""Parameters that say how a routine is called: blocking, nonblocking or persistent."""
TIMES = 5
"""How often each size is sent."""
_SIZES = (1024, 4096, 16384)
"""Sizes in bytes that are tried besides that of the case."""


class _Exchange(NamedTuple):
    """What a routine exchanges, in C; both buffers of a rank have room for one block per rank."""

    arguments: str
    arrives: str = "1"
    """Condition for the ranks at which data arrive."""
    blocks: str = "1"
    expected: str = "0, ranks - 1, i"
    """First and last rank whose words arrive at index i, and the index of these words in what they sent."""


_BLOCK, _WORDS = "8 * words, MPI_BYTE", "words, MPI_UNSIGNED_LONG_LONG, MPI_BXOR"
_EACH = "i / words, i / words, "
_SEND = _Exchange(f"out, {_BLOCK}, 1, 0", "rank == 1", expected="0, 0, i")
_EXCHANGES = {
    "MPI_Bcast": _Exchange(f"rank == 0 ? out : in, {_BLOCK}, 0", "rank > 0", expected="0, 0, i"),
    "MPI_Scatter": _Exchange(f"out, {_BLOCK}, in, {_BLOCK}, 0", expected="0, 0, rank * words + i"),
    "MPI_Gather": _Exchange(f"out, {_BLOCK}, in, {_BLOCK}, 0", "rank == 0", "ranks", f"{_EACH}i % words"),
    "MPI_Allgather": _Exchange(f"out, {_BLOCK}, in, {_BLOCK}", blocks="ranks", expected=f"{_EACH}i % words"),
    "MPI_Alltoall": _Exchange(
        f"out, {_BLOCK}, in, {_BLOCK}", blocks="ranks", expected=f"{_EACH}rank * words + i % words"
    ),
    "MPI_Reduce": _Exchange(f"out, in, {_WORDS}, 0", "rank == 0"),
    "MPI_Allreduce": _Exchange(f"out, in, {_WORDS}"),
    "MPI_Reduce_scatter_block": _Exchange(f"out, in, {_WORDS}", expected="0, ranks - 1, rank * words + i"),
    "MPI_Scan": _Exchange(f"out, in, {_WORDS}", expected="0, rank, i"),
    "MPI_Exscan": _Exchange(f"out, in, {_WORDS}", "rank > 0", expected="0, rank - 1, i"),
}


class Called(NamedTuple):
    """An MPI routine, and how a case calls it."""

    plain: str
    way: str

    @property
    def routine(self) -> str:
        """The name: `MPI_Bsend_init`."""
        name = self.plain.removeprefix("MPI_")
        return {"nonblocking": f"MPI_I{name.lower()}", "persistent": f"MPI_{name}_init"}.get(self.way, self.plain)


def called_by(benchmark: str, parameters: Mapping[str, Value], catalog: Catalog) -> Called:
    """Return what a case calls, by its parameters and declaration; the routine is empty if neither names one."""
    mode = MODES.get(str(parameters.get("mode")))
    asked = next((str(parameters[name]) for name in WAYS if name in parameters), "blocking")
    way = {"overlapped": "nonblocking", "nonblocking": asked, "persistent": asked}.get(asked, "blocking")
    return Called(mode or catalog.routine(benchmark), way)


def source(case: Case, catalog: Catalog) -> str | None:
    """Return the program for a case; None if there is none for its routine."""
    called = called_by(case.benchmark, case.parameters, catalog)
    sends = called.plain in MODES.values()
    exchange = _SEND if sends else _EXCHANGES.get(called.plain)
    if exchange is None:
        return None
    arguments = f"{exchange.arguments}, MPI_COMM_WORLD"
    sender = "if (rank == 0) " if sends else ""
    once = f"{called.routine}({arguments}{'' if sends else ', MPI_INFO_NULL'}, &request)"
    calls = {
        "blocking": f"{called.plain}({arguments})",
        "nonblocking": f"{called.routine}({arguments}, &request)",
        "persistent": "if (request != MPI_REQUEST_NULL) MPI_Start(&request)",
    }
    macros = {
        "PREPARE": sender + once if called.way == "persistent" else "",
        "POST": f"if (rank == 1) MPI_Irecv(in, {_BLOCK}, 0, 0, MPI_COMM_WORLD, &request)" if sends else "",
        "CALL": sender + calls[called.way],
        "ARRIVES": exchange.arrives,
        "BLOCKS": exchange.blocks,
        "EXPECTED": exchange.expected,
    }
    return "\n".join(
        [
            f"// Does {called.routine} deliver what was sent? It failed in: {case.label}.",
            f"// mpicc FILE.c -o FILE; mpiexec -n {case.ranks} ./FILE BYTES...",
            f"// Sends each size {TIMES} times, with other contents each time. Exit code 1: not all arrived.",
            *(f"#define {name} {text}".rstrip() for name, text in macros.items()),
            TEMPLATE.read_text(),
        ]
    )


def sizes(case: Case, catalog: Catalog) -> list[int]:
    """Return the sizes in bytes that are tried: some smaller ones, and the size of the case."""
    size = catalog.size(case.benchmark, case.parameters) or 8
    return [*(smaller for smaller in _SIZES if smaller < size), size]


@dataclass(frozen=True)
class Shown:
    """What the program printed."""

    library: str
    right: list[int]
    """Sizes in bytes that were right."""
    wrong: list[int]
    first_time: int
    """How often a size had been sent when it was first wrong."""
    kinds: list[str]
    """What arrived instead: `old`, `shifted`, `untouched`, `foreign`."""
    details: list[str]
    """The same in full, with the time the data are from: `old, of time 0` (before the first call)."""


def read(text: str) -> Shown | None:
    """Return what the program printed; None if it did not finish."""
    verdicts = re.findall(r"^(\d+) B: (right|WRONG)$", text, re.M)
    seen = re.findall(r"^\d+ B, time (\d+), rank \d+: wrong from byte \d+: ((\w+).*)$", text, re.M)
    library = re.search(r"^library (.+)$", text, re.M)  # lines of several ranks come in any order
    if not verdicts or library is None:
        return None
    return Shown(
        library=" ".join(library[1].replace("Version:", "").split()),  # MPICH says `MPICH Version:    4.0.2`
        right=[int(size) for size, said in verdicts if said == "right"],
        wrong=[int(size) for size, said in verdicts if said == "WRONG"],
        first_time=min((int(time) for time, _, _ in seen), default=0),
        kinds=sorted({kind for _, _, kind in seen}),
        details=sorted({detail for _, detail, _ in seen}),
    )
