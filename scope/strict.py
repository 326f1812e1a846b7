"""The bases of every record that crosses a stage: immutable, and strict about its keys."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Unix = Annotated[float, Field(ge=0, le=1e11)]
"""Seconds since 1970 began, to the year 5138: no calendar has a date for the greatest numbers."""


class Strict(BaseModel):
    """A frozen record; a key that is not declared is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Asked(Strict):
    """A table that people write: `true` is no number, `"3"` is no integer, and no number is nan or infinite."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)
