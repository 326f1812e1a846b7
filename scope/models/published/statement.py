"""What a source says of its figures, as data: how a figure is read off a run, and what must hold of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from scope.catalog.benchmark import Value
from scope.strict import Strict

Read = Literal["median", "largest", "smallest", "longest", "half_peak", "fitted", "frames", "half_frames"]


class Reading(Strict):
    """A figure to be read off a run."""

    place: str = ""
    """The name of one of the places; empty: the only run."""
    benchmark: str = ""
    metric: str = ""
    parameters: dict[str, Value] = {}
    ranks: int = 0
    """0: any number."""
    transport: str = "default"
    placement: str = ""
    """Where the ranks stand; empty: anywhere."""
    read: Read = "median"
    """Of the one case; the largest or smallest of all cases that agree; of the longest message; the message that
    reaches half of the rate of the longest, by interpolation; a parameter of a fitted model; the rate that frames
    leave of a link, and the payload of a single frame that has half of it (appendix A of Melas 2000)."""
    protocol: Literal["raw", "tcp", "tcp_timestamps", "tcp_acknowledged"] = "tcp_timestamps"
    """What the frames carry; Linux sends time stamps."""
    fitted: str = ""
    """Model and parameter: `hockney.n_half_bytes`."""
    times: float = Field(1.0, gt=0)
    """What the figure is multiplied by."""


class Statement(Strict):
    """A printed figure, or a printed statement about the shape of a drawn one, and what must hold here."""

    where: str
    """Figure, table or section of the source."""
    of: str
    """The name of a reading, or the words of a row of the experiment's own tables."""
    over: str = ""
    """Another: the figure is the quotient."""
    words: str = ""
    """What the figure is, where the names of both do not say it well."""
    unit: str = "1"
    """Of the printed figures; a quotient has none."""
    published: float | None = None
    published_over: float | None = None
    """Of a quotient of two printed figures: the lower one."""
    says: str = ""
    """Where no number is printed: what the source says."""
    predicted: str | float | None = None
    """By a model: the name of another reading, or what follows from the algorithm alone."""
    predicted_over: str = ""
    above: float | None = None
    below: float | None = None
    """The figure must lie above, below, or between both."""
    factor: float | None = Field(None, gt=1)
    """The figure must agree with the printed one within this factor: only where both are of the same kind."""
    processors: int = 1
    """How many processors an emulated cluster needs for it: with fewer, hosts wait for each other, and it is not
    judged. Short messages need one for each rank, long ones wait for links alone."""
    remark: str = ""

    @property
    def title(self) -> str:
        """What the figure is."""
        return self.words or (f"{self.of} over {self.over}" if self.over else self.of)

    @property
    def printed(self) -> float | None:
        """The printed figure, of two printed ones their quotient."""
        if self.published is None or self.published_over is None:
            return self.published
        return self.published / self.published_over

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Between what the figure must lie."""
        if self.factor is not None and self.printed is not None:
            return self.printed / self.factor, self.printed * self.factor
        return self.above, self.below
