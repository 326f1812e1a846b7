"""Published experiments repeated here: each printed value beside ours, and how many of the relations hold."""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from hpcscope.strict import Strict

Holds = Literal["yes", "no", "undecided", ""]
"""Whether a published relation holds here; empty where none is stated, or nothing was measured."""


class ComparedValue(Strict):
    """One value: as published, as predicted for this machine, and as measured here."""

    row: str
    """What it is."""
    published: float | None
    predicted: float | None
    measured: float | None
    unit: str
    limit: float | None
    """The bound of the value: of a speedup the number of ranks, which it exceeds only because of caches."""
    origin: Literal["measured", "emulated", "simulated", "published"]
    """Origin of our value: the measured one, else the predicted one; `published` without either."""
    size: int
    """The size that was used here."""
    ranks: int
    remark: str
    where: str = ""
    """Figure, table or section of the source."""
    says: str = ""
    """What the source prints, in its own kind; empty where the published value says it."""
    relation: str = ""
    """What must hold of our value; empty where it is for orientation only."""
    holds: Holds = ""
    direction_only: bool = False
    """Whether the relation asks for the direction of the published value alone: ours may be far from it."""


class Tally(Strict):
    """How many statements hold."""

    stated: int
    yes: int
    direction_only: int
    """How many of those that hold do so in their direction alone."""
    no: int
    undecided: int
    not_judged: int
    """Not measured here, or not comparable; the row says why."""


class RepeatedExperiment(Strict):
    """One published experiment, repeated."""

    name: str
    title: str
    source: str
    rows: list[ComparedValue]
    reason: str = ""
    """Why there are no figures of ours."""
    unfinished: bool = False
    """Whether its time was over: what it measured is kept."""
    seconds: float = Field(0.0, ge=0)

    @property
    def stated(self) -> list[ComparedValue]:
        """The rows of which something must hold."""
        return [row for row in self.rows if row.relation]

    @property
    def orientation(self) -> list[ComparedValue]:
        """The rows that no relation is stated of: values of another machine."""
        return [row for row in self.rows if not row.relation]


class Overview(Strict):
    """`reproductions.json`."""

    quick: bool
    full: bool
    outcomes: list[RepeatedExperiment]

    @property
    def tally(self) -> Tally:
        """Return the tally of all experiments."""
        return tally(row for outcome in self.outcomes for row in outcome.rows)


def tally(rows: Iterable[ComparedValue]) -> Tally:
    """Return how many of the stated relations hold."""
    stated = [row for row in rows if row.relation]
    return Tally(
        stated=len(stated),
        yes=sum(row.holds == "yes" for row in stated),
        direction_only=sum(row.holds == "yes" and row.direction_only for row in stated),
        no=sum(row.holds == "no" for row in stated),
        undecided=sum(row.holds == "undecided" for row in stated),
        not_judged=sum(row.holds == "" for row in stated),
    )
