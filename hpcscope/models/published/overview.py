"""Published experiments repeated here: each printed value with the value here, and how many relations hold."""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from hpcscope.strict import Strict

Holds = Literal["yes", "no", "undecided", ""]
"""Whether a published relation holds here; empty if none is stated or nothing was measured."""


class ComparedValue(Strict):
    """One value: as published, as predicted for this machine, and as measured here."""

    row: str
    """The name of the value."""
    published: float | None
    predicted: float | None
    measured: float | None
    unit: str
    limit: float | None
    """The bound on the value: for a speedup the number of ranks, which it exceeds only because of caches."""
    origin: Literal["measured", "emulated", "simulated", "published"]
    """Origin of the value here: measured, else predicted; `published` if there is neither."""
    size: int
    """The size that was used here."""
    ranks: int
    remark: str
    where: str = ""
    """Figure, table or section of the source."""
    says: str = ""
    """What the source prints, in its own form; empty if the published value is enough."""
    relation: str = ""
    """What must hold for the value here; empty if it is for orientation only."""
    holds: Holds = ""
    direction_only: bool = False
    """Whether only the direction of the published value is required: the value here may be far from it."""


class Tally(Strict):
    """The number of statements that hold."""

    stated: int
    yes: int
    direction_only: int
    """How many of the statements that hold do so only in their direction."""
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
    """Why there are no values from here."""
    unfinished: bool = False
    """Whether its time ran out: what it measured is kept."""
    seconds: float = Field(0.0, ge=0)

    @property
    def stated(self) -> list[ComparedValue]:
        """The rows with a relation that must hold."""
        return [row for row in self.rows if row.relation]

    @property
    def orientation(self) -> list[ComparedValue]:
        """The rows without a relation: values of another machine."""
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
