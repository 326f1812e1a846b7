"""The steps that make up the time of a program: work at the rate of one rank, and all messages."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from hpcscope.catalog.benchmark import Phase, Value
from hpcscope.catalog.ranks import grid_extents

DOUBLE_BYTES = 8


@dataclass(frozen=True)
class LocalWork:
    """Work of a phase, at the rate at which one rank does it on a problem of size `like`."""

    phase: Phase
    units: float
    like: float
    """The size whose rate counts: the size of one block, not of the whole problem."""
    of: dict[str, Value] = field(default_factory=dict)
    """Parameters in which the run on one rank differs, for example `variant=plain`."""
    rate_of: Phase | None = None
    """The phase whose rate counts, if it is another phase."""
    passes: float = 1.0
    """Least number of passes through the memory that the work touches."""


@dataclass(frozen=True)
class Messages:
    """Messages of the same size, one after another over the path."""

    phase: Phase
    count: float
    bytes: float
    hidden: bool = False
    """Whether they overlap with the computation."""

    @property
    def sent_bytes(self) -> float:
        """Return the bytes of all messages."""
        return self.count * self.bytes


@dataclass(frozen=True)
class CollectiveStep:
    """A repeated collective of the library."""

    phase: Phase
    routine: str
    """For example `MPI_Bcast`."""
    times: float
    bytes: float
    ranks: int
    fresh: bool = False
    """Whether its buffers are cold: it costs an operation on cold buffers, if that was measured."""
    messages: int = 0
    """The messages that a rank sends one after another while it receives, as in an all-to-all. They stand for a
    collective that was not measured. 0: the messages of a binomial tree stand for it."""

    @property
    def count(self) -> float:
        """Return the number of messages that stand for all repetitions."""
        return self.times * (self.messages or ceil_log2(self.ranks))

    @property
    def sent_bytes(self) -> float:
        """Return the bytes of these messages."""
        return self.count * self.bytes


@dataclass(frozen=True)
class NeighborExchange:
    """Messages to and from all neighbors, posted together, as in a stencil program; repeated."""

    phase: Phase
    times: float
    bytes: float
    """Bytes of each message."""
    ranks: int
    neighbors: int

    @property
    def count(self) -> float:
        """Return the number of messages that a rank sends."""
        return self.times * self.neighbors


Step = LocalWork | Messages | CollectiveStep | NeighborExchange


def crossing(phase: Phase, count: float, bytes_: float) -> CollectiveStep:
    """Return messages that are sent while others are received, as an all-to-all on two ranks."""
    return CollectiveStep(phase, "MPI_Alltoallv", count, bytes_, 2, messages=1)


@dataclass(frozen=True)
class Problem:
    """The problem to predict."""

    size: int
    ranks: int
    parameters: dict[str, Value]
    """All parameters except the size."""
    counts: dict[str, float] = field(default_factory=dict)
    """The metrics of role `count` on one rank, if they were measured."""

    @property
    def variant(self) -> str:
        """The variant of the local work."""
        return str(self.parameters.get("variant", "plain"))

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the process grid: as requested, else as square as possible."""
        return grid_extents(self.parameters, self.ranks)


class Costs(Protocol):
    """The costs of an algorithm; each file of this package has an instance named `COSTS`."""

    name: str
    """The display name."""
    benchmark: str
    source: str

    def units(self, phase: Phase, size: float, problem: Problem) -> float:
        """Return how much work one rank has in a phase at a size; any unit, the same for all sizes."""
        ...

    def touched_bytes(self, size: float) -> float:  # noqa: ARG002 - of those that declare it
        """Return how much memory one rank works on at a size; 0 if that is not declared."""
        return 0.0

    def refuses(self, problem: Problem) -> str:
        """Return why the algorithm cannot run, by default because the grid is impossible; empty if it can."""
        rows = int(problem.parameters.get("grid_rows", 0))
        return f"grid_rows={rows} does not divide {problem.ranks} ranks" if rows and problem.ranks % rows else ""

    def steps(self, problem: Problem) -> Iterator[Step]:
        """Yield the successive steps of the busiest rank."""
        ...


def ceil_log2(count: int) -> int:
    """Return the steps of a binomial tree among this number of ranks."""
    return (count - 1).bit_length()
