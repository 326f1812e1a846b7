"""The numbers of ranks that a benchmark can use."""

from collections.abc import Mapping
from math import isqrt

from pydantic import Field

from hpcscope.strict import Strict

GROUP = "group_ranks"
"""The parameter for collectives that groups of ranks call at the same time: ranks per group, 0 for all."""


def in_groups(settings: Mapping[str, int | float | str]) -> bool:
    """Return whether groups of ranks call a collective at the same time, instead of all ranks together."""
    return settings.get(GROUP, 0) != 0


def grid_extents(settings: Mapping[str, int | float | str], ranks: int) -> tuple[int, int]:
    """Return rows and columns of a process grid: as given, else as close to a square as the ranks allow."""
    rows, columns = (int(settings.get(name, 0)) for name in ("grid_rows", "grid_columns"))
    if not rows:
        few = (count for count in range(1, isqrt(ranks) + 1) if ranks % count == 0)
        rows = ranks // columns if columns else max(few)
    return rows, ranks // rows


class Ranks(Strict):
    """The numbers of ranks that a benchmark can use."""

    minimum: int = Field(1, ge=1)
    maximum: int | None = None
    multiple_of: int = Field(1, ge=1)
    square: bool = False
    one_of: list[int] = []
    """The only numbers that are possible; empty: no such restriction."""

    def allows(self, count: int) -> bool:
        """Return whether a case can run on this number of ranks."""
        return (
            count >= self.minimum
            and (self.maximum is None or count <= self.maximum)
            and count % self.multiple_of == 0
            and (not self.square or isqrt(count) ** 2 == count)
            and (not self.one_of or count in self.one_of)
        )

    @property
    def description(self) -> str:
        """The allowed values in words: `an even number, at least 2`."""
        if self.one_of:
            *others, last = map(str, sorted(self.one_of))
            return f"{', '.join(others)} or {last}" if others else last
        if self.minimum == self.maximum:
            return str(self.minimum)
        kinds = [
            "a square number" if self.square else "",
            {1: "", 2: "an even number"}.get(self.multiple_of, f"a multiple of {self.multiple_of}"),
            f"at least {self.minimum}" + (f" and at most {self.maximum}" if self.maximum is not None else ""),
        ]
        return ", ".join(filter(None, kinds))

    @property
    def fewest(self) -> int:
        """The smallest number that is allowed."""
        most = self.maximum or (self.minimum * self.multiple_of) ** 2
        candidates = sorted(self.one_of) or range(self.minimum, most + 1)
        return next(filter(self.allows, candidates), self.minimum)

    def up_to(self, room: int) -> int | None:
        """Return the largest number that is allowed and not above `room`; None if there is none."""
        most = room if self.maximum is None else min(room, self.maximum)
        return next((count for count in range(most, 0, -1) if self.allows(count)), None)
