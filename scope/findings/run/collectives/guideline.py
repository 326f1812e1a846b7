"""What a performance guideline says, and how it picks what it compares.

After Träff, Gropp & Thakur 2010, "Self-consistent MPI performance guidelines" (IEEE TPDS 21 (5), 698-709): a call
must not be slower than a program that does the same with other calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from scope.samples.samples import Floats
from scope.statistics.summary import Summary


@dataclass(frozen=True)
class Comparison:
    """left <= times x right + then."""

    left: Summary
    right: Summary
    times: float = 1.0
    then: Summary | None = None

    @property
    def bound_s(self) -> float:
        """What the left side must not exceed."""
        return self.times * (self.right.median or 0.0) + ((self.then.median or 0.0) if self.then else 0.0)

    @property
    def bound_of_launches_s(self) -> Floats:
        """The same for each launch; of a sum, launches are taken in their order."""
        right: Floats = self.times * np.array(self.right.launch_medians, dtype=np.float64)
        if self.then is None:
            return right
        then: Floats = np.array(self.then.launch_medians, dtype=np.float64)
        count = min(right.size, then.size)
        both: Floats = right[:count] + then[:count]
        return both


Pairs = Callable[[list[Summary]], Iterator[Comparison]]


@dataclass(frozen=True)
class Guideline:
    """What must not be slower than what, in words, and where that is found among summaries of times."""

    name: str
    left: str
    right: str
    pairs: Pairs


def size(summary: Summary) -> int:
    """Return the message size in bytes; 0 where there is none."""
    return int(summary.parameters.get("message_bytes", 0))


def of(times: list[Summary], benchmark: str, **parameters: str | int) -> list[Summary]:
    """Return the summaries of a benchmark with these parameters, where it has them."""
    return [
        s
        for s in times
        if s.benchmark == benchmark
        and all(s.parameters.get(name, value) == value for name, value in parameters.items())
    ]


def same_place(left: Summary, right: Summary) -> bool:
    """Say whether two were measured over the same transport, by as many processes that were placed alike."""
    return (left.transport, left.origin, left.ranks, left.placement) == (
        right.transport,
        right.origin,
        right.ranks,
        right.placement,
    )


def slowest_pair(left: Summary, pairs: list[Summary]) -> Summary | None:
    """Return the slowest of the pairs that a call of many processes may be made of: those of two hosts if any."""
    return max(
        (pair for pair in pairs if (left.transport, left.origin) == (pair.transport, pair.origin)),
        key=lambda pair: pair.median or 0.0,
        default=None,
    )
