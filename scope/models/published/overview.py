"""All published experiments together: what of their printed figures and statements holds here."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from scope.models.published.reproduction import Row
from scope.strict import Strict


class Tally(Strict):
    """How many statements hold."""

    stated: int
    yes: int
    no: int
    undecided: int
    not_judged: int
    """Not measured here, or not comparable; the row says why."""


class Outcome(Strict):
    """One published experiment."""

    name: str
    title: str
    source: str
    rows: list[Row]
    reason: str = ""
    """Why there are no figures of ours."""
    unfinished: bool = False
    """Whether its time was over: what it measured is kept."""
    seconds: float = Field(0.0, ge=0)

    @property
    def stated(self) -> list[Row]:
        """The rows of which something must hold."""
        return [row for row in self.rows if row.relation]

    @property
    def orientation(self) -> list[Row]:
        """The rows of published figures that no relation is stated of: those of another machine."""
        return [row for row in self.rows if row.published is not None and not row.relation]


class Overview(Strict):
    """`reproductions.json`."""

    quick: bool
    full: bool
    outcomes: list[Outcome]

    @property
    def tally(self) -> Tally:
        """Of all experiments."""
        return tally(row for outcome in self.outcomes for row in outcome.rows)


def tally(rows: Iterable[Row]) -> Tally:
    """Return how many of the stated relations hold."""
    stated = [row for row in rows if row.relation]
    return Tally(
        stated=len(stated),
        yes=sum(row.holds == "yes" for row in stated),
        no=sum(row.holds == "no" for row in stated),
        undecided=sum(row.holds == "undecided" for row in stated),
        not_judged=sum(row.holds == "" for row in stated),
    )
