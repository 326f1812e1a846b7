"""Where a published experiment is measured: the cases, and the emulated cluster that stands for a network."""

from __future__ import annotations

from pydantic import Field

from scope.names import NAME
from scope.strict import Strict


class Scale(Strict):
    """The cases to run, in the syntax of `--case`."""

    launches: int = Field(ge=1)
    cases: list[str]
    sizes: dict[int, int] = {}
    """The counterpart of each published size or block; empty: the published ones themselves."""


class Place(Strict):
    """One of several networks, and its counterpart here: a run of its own."""

    name: str = Field(pattern=f"^{NAME}$")
    """Also that of the folder of the run."""
    words: str
    """Its counterpart here."""
    lab: str | None = None
    """The emulated cluster; None: this machine."""
    link_bits_per_s: float | None = None
    """Rate of its links, for the limit by frames."""
    fitting: Scale
    full: Scale | None = None
    """None: the same cases."""

    def scale(self, full: bool) -> Scale:
        """Return the cases to run."""
        return self.full if full and self.full is not None else self.fitting
