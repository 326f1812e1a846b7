"""What a source says of its values, as data: how a value is read off a run, and what must hold of it."""

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
    """A value to be read off a run or a campaign, or made of other readings."""

    place: str = ""
    """The name of one of the places or of the networks of the study; empty: the only run."""
    benchmark: str = ""
    metric: str = ""
    parameters: dict[str, Value | list[Value]] = {}
    """Parameters of the case; from a list, the first value that was run: the published one, then ours."""
    ranks: int = 0
    """0: any number; of a campaign the largest."""
    fewer_ranks: bool = False
    """Where the published number of ranks was not run: the largest one below it, of two or more."""
    transport: str = "default"
    placement: str = ""
    """Where the ranks are; empty: anywhere."""
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
    """Group of a campaign's runs that behave alike, from 1, the largest first, whose mean is meant."""
    fixed: Literal["processes", "nodes"] = "processes"
    """What both placements of a placement study have in common."""
    times: float = Field(1.0, gt=0)
    """What the value is multiplied by."""
    per_rank: bool = False
    """Whether the value is divided by the number of ranks."""


class Statement(Strict):
    """A printed value, or a printed statement about the shape of a drawn curve, and what must hold here."""

    where: str
    """Figure, table or section of the source."""
    of: str
    """The name of a reading."""
    over: str = ""
    """Another: the value is the quotient."""
    words: str = ""
    """What the value is, where the names of both do not say it well."""
    unit: str = "1"
    """Unit of the printed values; a quotient has none."""
    published: float | None = None
    published_over: float | None = None
    """Lower one of a quotient of two printed values."""
    published_at: dict[str, Value] = {}
    """Parameters of the printed value that ours need not have."""
    says: str = ""
    """Where no number is printed: what the source says."""
    predicted: str | float | None = None
    """The name of another reading, or what follows from the algorithm alone; None: by the models of the run."""
    predicted_over: str = ""
    limit: str | float | None = None
    """The bound of the value: a number, or the name of another reading."""
    above: float | None = None
    below: float | None = None
    """The value must lie above, below, or between both."""
    factor: float | None = Field(None, gt=1)
    """The value must agree with the printed one within this factor: only where both are of the same kind."""
    law: Literal["linear", "logarithmic"] | None = None
    """The law of growth with the processes that the models must choose."""
    processors: int = 1
    """How many processors an emulated cluster needs for it: with fewer, hosts wait for each other, and it is not
    judged. Short messages need one for each rank, long ones wait for links alone."""
    remark: str = ""

    @property
    def title(self) -> str:
        """What the value is."""
        return self.words or (f"{self.of} over {self.over}" if self.over else self.of)

    @property
    def names(self) -> list[str]:
        """The readings that it is about."""
        return [self.of, self.over] if self.over else [self.of]

    @property
    def printed(self) -> float | None:
        """The printed value, of two printed ones their quotient."""
        if self.published is None or self.published_over is None:
            return self.published
        return self.published / self.published_over

    @property
    def kind(self) -> str:
        """The unit of the value: a quotient has none."""
        return "1" if self.over else self.unit

    @property
    def direction_only(self) -> bool:
        """Whether a value was printed, which is not the bound itself, but only its direction must hold."""
        one_sided = self.law is None and self.bounds.count(None) == 1
        return one_sided and self.printed is not None and self.printed not in self.bounds

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Between what the value must lie."""
        if self.factor is not None and self.printed is not None:
            return self.printed / self.factor, self.printed * self.factor
        return self.above, self.below
