"""Offers, one of which may be bought, read from a TOML file such as this.

[[offer]]
name = "faster-trunk"
cost = 20000                          # in any currency, the same for all
set = { "link.trunk.bandwidth" = 1.25e9 }
[[offer]]
name = "more-hosts"
cost = 60000
hosts = 16
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, model_validator

from hpcscope.errors import UsageError
from hpcscope.names import NAME
from hpcscope.rundirectory import explain, read_toml
from hpcscope.strict import Asked

MOST_OFFERS = 100
Positive = Annotated[float, Field(gt=0)]


class Offer(Asked):
    """One `[[offer]]`: how the platform would change, and what that costs."""

    name: Annotated[str, Field(pattern=f"^{NAME}$", max_length=60)]
    cost: Positive
    set: dict[str, Positive] = {}
    """Settings as in the words of `--set`."""
    hosts: int | None = None
    topology: str | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Offer:
        if not self.set and self.hosts is None and self.topology is None:
            raise ValueError(f"{self.name}: changes nothing; must have one of the keys set, hosts and topology")
        return self


class Offers(Asked):
    """The whole file; unknown keys are refused."""

    offer: list[Offer] = Field(min_length=1, max_length=MOST_OFFERS)

    @model_validator(mode="after")
    def _names_differ(self) -> Offers:
        names = [offer.name for offer in self.offer]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"offer.name = {twice}: must be the name of one offer only")
        return self


def read(file: Path) -> list[Offer]:
    """Return the offers of a file; raises UsageError naming file, key, value and what is allowed."""
    try:
        return Offers.model_validate(read_toml(file)).offer
    except ValidationError as error:
        raise UsageError(f"{file}: {explain(error)}") from error
