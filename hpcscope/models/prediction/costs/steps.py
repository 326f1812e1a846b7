"""The steps that make up the time of a program: work at the rate of one process, and all that it sends."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from hpcscope.catalog.benchmark import Phase, Value
from hpcscope.catalog.ranks import grid_extents

DOUBLE_BYTES = 8


@dataclass(frozen=True)
class LocalWork:
    """Work of a phase at the rate at which one process does it on a problem of `like`."""

    phase: Phase
    units: float
    like: float
    """The size whose rate counts: that of one block, not of the whole."""
    of: dict[str, Value] = field(default_factory=dict)
    """Parameters in which the run on one process differs, `variant=plain` for example."""
    rate_of: Phase | None = None
    """The phase whose rate counts, where it is another."""
    passes: float = 1.0
    """How often it passes through the memory that it touches, at least."""


@dataclass(frozen=True)
class Messages:
    """Messages one after another over the path, each of the same size."""

    phase: Phase
    count: float
    bytes: float
    hidden: bool = False
    """They go on behind the computation."""

    @property
    def sent_bytes(self) -> float:
        """Return the bytes of all messages."""
        return self.count * self.bytes


@dataclass(frozen=True)
class CollectiveStep:
    """A collective of the library, repeated."""

    phase: Phase
    routine: str
    """For example `MPI_Bcast`."""
    times: float
    bytes: float
    ranks: int
    fresh: bool = False
    """Into buffers that are used for the first time: as an operation on cold buffers, where that was measured."""
    messages: int = 0
    """The messages that a process sends one after another, while it receives as many, as in an all-to-all; they
    stand for a collective that was not measured. 0: those of a binomial tree stand for it."""

    @property
    def count(self) -> float:
        """Return the number of messages that stand for all."""
        return self.times * (self.messages or ceil_log2(self.ranks))

    @property
    def sent_bytes(self) -> float:
        """Return the bytes of these messages."""
        return self.count * self.bytes


@dataclass(frozen=True)
class NeighborExchange:
    """Messages to all neighbors, posted together while as many arrive, as in a stencil program; repeated."""

    phase: Phase
    times: float
    bytes: float
    """Bytes of each message."""
    ranks: int
    neighbors: int

    @property
    def count(self) -> float:
        """Return the number of messages that a process sends."""
        return self.times * self.neighbors

    @property
    def sent_bytes(self) -> float:
        """Return the bytes of these messages."""
        return self.count * self.bytes


Step = LocalWork | Messages | CollectiveStep | NeighborExchange


def crossing(phase: Phase, count: float, bytes_: float) -> CollectiveStep:
    """Return messages that are sent while others are received: what an all-to-all of two processes is."""
    return CollectiveStep(phase, "MPI_Alltoallv", count, bytes_, 2, messages=1)


@dataclass(frozen=True)
class Problem:
    """The problem to predict."""

    size: int
    ranks: int
    parameters: dict[str, Value]
    """Without the size."""
    counts: dict[str, float] = field(default_factory=dict)
    """The metrics of role `count` on one process, where they were measured."""

    @property
    def variant(self) -> str:
        """The way the local work is done."""
        return str(self.parameters.get("variant", "plain"))

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the processes: as asked, else as square as their number allows."""
        return grid_extents(self.parameters, self.ranks)


class Costs(Protocol):
    """The costs of an algorithm: one file of this package that has an instance named `COSTS`."""

    name: str
    """The name for people."""
    benchmark: str
    source: str

    def units(self, phase: Phase, size: float, problem: Problem) -> float:
        """Return how much work one process has in a phase at a size; any unit, the same for all sizes."""
        ...

    def touched_bytes(self, size: float) -> float:  # noqa: ARG002 - of those that declare it
        """Return how much memory one process works on at a size; 0 where that is not declared."""
        return 0.0

    def refuses(self, problem: Problem) -> str:
        """Say why the algorithm cannot run so: unless it says more, that there is no such grid; else empty."""
        rows = int(problem.parameters.get("grid_rows", 0))
        return f"grid_rows={rows} does not divide {problem.ranks} ranks" if rows and problem.ranks % rows else ""

    def steps(self, problem: Problem) -> Iterator[Step]:
        """Yield the steps that follow one after another on the busiest process."""
        ...


def ceil_log2(count: int) -> int:
    """Return the steps of a binomial tree among this number of processes."""
    return (count - 1).bit_length()
