"""The bases of every record that crosses a stage: immutable, and strict about its keys."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A frozen record; a key that is not declared is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Asked(Strict):
    """A table that people write: `true` is no number, `"3"` is no integer, and no number is nan or infinite."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)
