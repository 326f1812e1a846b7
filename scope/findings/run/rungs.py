"""Rungs of ladders on which much is lost: what several kinds of finding look for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from scope.findings.finding import Evidence
from scope.findings.run.context import Context
from scope.models.fit import Ladder, Rung


class Lossy(NamedTuple):
    """A rung, the one below it, and their ladder."""

    ladder: Ladder
    below: Rung
    rung: Rung

    @property
    def retained(self) -> float:
        """Share of the rung below."""
        return self.rung.retained or 0.0

    @property
    def where(self) -> dict[str, str | int | float]:
        """Path, layer and size."""
        size = self.ladder.message_bytes or 0
        return {"path": self.ladder.path, "layer": self.rung.layer, "message_bytes": size}

    @property
    def evidence(self) -> list[Evidence]:
        """Both rungs' figures."""
        return [Evidence(what=one.name, value=one.value or 0.0, unit=one.unit) for one in (self.below, self.rung)]


def lossy(context: Context, quantity: str, layers: tuple[str, ...], worth_a_line: float) -> Iterator[Lossy]:
    """Yield the rungs that certainly retain less than a share of the rung below, the first ladder of each path."""
    seen: set[tuple[str, str]] = set()
    for ladder in context.models.ladders:
        if ladder.quantity != quantity:
            continue
        for below, rung in pairwise(ladder.rungs):
            sure = rung.retained is not None and (rung.retained_high or rung.retained) < worth_a_line
            if rung.layer in layers and sure and (ladder.path, rung.layer) not in seen:
                seen.add((ladder.path, rung.layer))
                yield Lossy(ladder, below, rung)
