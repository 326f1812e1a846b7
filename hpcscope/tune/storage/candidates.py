"""The ways to access files from which a search chooses."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Literal

from hpcscope import units
from hpcscope.catalog.benchmark import Value
from hpcscope.strict import Strict

Direction = Literal["write", "read"]
BENCHMARKS: dict[Direction, str] = {"write": "storage.write", "read": "storage.read"}
TRANSFERS = tuple(1 << exponent for exponent in (16, 18, 20, 22, 24))
"""64 KiB to 16 MiB: smaller transfers are slower on every file system, larger ones gain nothing."""
USUAL_TRANSFER = 1 << 20
Method = Literal["posix", "independent", "collective", "collective-unbuffered"]
METHODS: dict[Method, tuple[str, dict[str, Value]]] = {
    "posix": ("POSIX", {"interface": "posix"}),
    "independent": ("MPI-IO, independent", {"interface": "mpiio", "access": "independent"}),
    "collective": ("MPI-IO, collective", {"interface": "mpiio", "access": "collective"}),
    "collective-unbuffered": (
        "MPI-IO, collective without collective buffering",
        {"interface": "mpiio", "access": "collective", "collective_buffering": "off"},
    ),
}
"""Methods by name: in words, and as parameters of the benchmarks."""


class FileAccess(Strict):
    """One way to access files."""

    ranks: int
    """Number of ranks that access files at the same time."""
    method: Method = "posix"
    file: Literal["shared", "per_process"] = "shared"
    transfer_bytes: int = USUAL_TRANSFER

    @property
    def label(self) -> str:
        """The candidate in words."""
        processes = f"{self.ranks} rank{'s' if self.ranks != 1 else ''}"
        return f"{processes}, {self.way}, {units.size(self.transfer_bytes)} at a time"

    @property
    def way(self) -> str:
        """Files and method in words."""
        files = "one shared file" if self.file == "shared" else "a file each"
        return f"{files}, {METHODS[self.method][0]}"

    def settings(self, file_bytes: int) -> dict[str, Value]:
        """Return the benchmark's parameters for this many bytes per rank."""
        return {
            "file": self.file,
            "transfer_bytes": self.transfer_bytes,
            "file_bytes": file_bytes,
            **METHODS[self.method][1],
        }


def candidates(ranks: Sequence[int], file_bytes: int, files: Sequence[str]) -> Iterator[FileAccess]:
    """Yield all candidates; a file that only one rank opens needs no collective access."""
    transfers = [size for size in TRANSFERS if size <= file_bytes] or [file_bytes]
    for count, file, method, size in product(ranks, ("shared", "per_process"), METHODS, transfers):
        alone = count == 1 or file == "per_process"
        if file in files and not (alone and method != "posix") and not (count == 1 and file == "per_process"):
            yield FileAccess(ranks=count, file=file, method=method, transfer_bytes=size)


def plainness(candidate: FileAccess) -> tuple[int, int, int]:
    """Return a sort key: the simplest way first, with the fewest ranks."""
    return list(METHODS).index(candidate.method), candidate.ranks, abs(candidate.transfer_bytes - USUAL_TRANSFER)
