"""The statements of a source, as data: how a value is read off a run, and what must hold for it."""

from typing import Literal

from pydantic import Field

from hpcscope.catalog.benchmark import Value
from hpcscope.strict import Strict

Read = Literal[
    "sum",
    "difference",
    "product",
    "quotient",
    "lost",
    "geometric_mean",
    "smallest",
    "largest",
    "median",
    "longest",
    "half_peak",
    "fitted",
    "growth",
    "inverse_law",
    "critical_ranks",
    "frames",
    "half_frames",
    "broadcast_limit",
    "trunk",
    "trunk_bytes",
]


class StatementReading(Strict):
    """A value that is read off a run or a campaign, or combined from other readings."""

    place: str = ""
    """The name of a place, or of a network of the study; empty: the only run."""
    benchmark: str = ""
    metric: str = ""
    parameters: dict[str, Value | list[Value]] = {}
    """Parameters of the case; of a list, the first value that was run: the published one, then alternatives."""
    ranks: int = 0
    """0: any number; in a campaign, the largest."""
    fewer_ranks: bool = False
    """Whether the largest smaller number of ranks, at least two, replaces a published one that was not run."""
    transport: str = "default"
    placement: str = ""
    """Placement of the ranks; empty: any placement."""
    read: Read = "median"
    """How to read it: see reference/README.md."""
    of: list[str] = []
    """The readings that are combined."""
    protocol: Literal["raw", "tcp", "tcp_timestamps", "tcp_acknowledged"] = "tcp_timestamps"
    """What the frames carry; Linux sends time stamps."""
    fitted: str = ""
    """Model and parameter: `hockney.n_half_bytes`."""
    group: str = ""
    """Group of hosts at the end of the trunk, for `trunk_bytes`."""
    feature: str = ""
    """Feature of a campaign's runs, or a result of their analysis."""
    routine: str = ""
    """MPI routine whose `seconds`, `bytes` or `calls` a campaign's feature is."""
    cluster: int = 0
    """Group of similar runs in a campaign whose mean is taken, counted from 1, the largest group first."""
    fixed: Literal["processes", "nodes"] = "processes"
    """What the two placements of a placement study have in common."""
    times: float = Field(1.0, gt=0)
    """Factor by which the value is multiplied."""
    per_rank: bool = False
    """Whether the value is divided by the number of ranks."""


class Statement(Strict):
    """A printed value, or a printed statement about the shape of a drawn curve, and what must hold here."""

    where: str
    """Figure, table or section of the source."""
    of: str
    """The name of the reading."""
    over: str = ""
    """The name of another reading, by which the first one is divided."""
    words: str = ""
    """The name of the value, if the names of the readings do not describe it well."""
    unit: str = "1"
    """Unit of the printed values; a quotient has none."""
    published: float | None = None
    published_over: float | None = None
    """The divisor, if the source prints two values whose quotient is meant."""
    published_at: dict[str, Value] = {}
    """Parameters of the printed value that the value here need not have."""
    says: str = ""
    """What the source says, if it prints no number."""
    predicted: str | float | None = None
    """The name of another reading, or a value that follows from the algorithm; None: the models predict it."""
    predicted_over: str = ""
    limit: str | float | None = None
    """The bound on the value: a number, or the name of another reading."""
    above: float | None = None
    below: float | None = None
    """The value must be above, below, or between both."""
    factor: float | None = Field(None, gt=1)
    """The value must agree with the printed one within this factor; only if both are of the same kind."""
    law: Literal["linear", "logarithmic"] | None = None
    """The law of growth with the number of ranks that the models must choose."""
    processors: int = 1
    """Processors that an emulated cluster needs for the statement: with fewer, hosts wait for each other, and
    it is not judged. Short messages need one processor per rank; long messages wait only for links. An emulated
    link of 1 Gbit/s occupies one, too."""
    remark: str = ""

    @property
    def title(self) -> str:
        """The name of the value."""
        return self.words or (f"{self.of} / {self.over}" if self.over else self.of)

    @property
    def names(self) -> list[str]:
        """The readings that the statement is about."""
        return [self.of, self.over] if self.over else [self.of]

    @property
    def printed(self) -> float | None:
        """The printed value, or the quotient of two printed values."""
        if self.published is None or self.published_over is None:
            return self.published
        return self.published / self.published_over

    @property
    def kind(self) -> str:
        """The unit of the value; a quotient has none."""
        return "1" if self.over else self.unit

    @property
    def direction_only(self) -> bool:
        """Whether only the direction of a printed value must hold, because it is not itself the bound."""
        one_sided = self.law is None and self.bounds.count(None) == 1
        return one_sided and self.printed is not None and self.printed not in self.bounds

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The bounds between which the value must be."""
        if self.factor is not None and self.printed is not None:
            return self.printed / self.factor, self.printed * self.factor
        return self.above, self.below
