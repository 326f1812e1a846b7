"""Performance guidelines: pairs of operations in which the first must not be slower than the second.

After Träff, Gropp & Thakur 2010, "Self-consistent MPI performance guidelines" (IEEE TPDS 21 (5), 698-709): a call
must not be slower than a program that does the same with other calls.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from hpcscope.catalog.catalog import Catalog
from hpcscope.samples.samples import Floats
from hpcscope.statistics.summary import Summary


@dataclass(frozen=True)
class GuidelineComparison:
    """left <= times x right + then_times x then."""

    left: Summary
    right: Summary
    times: float = 1.0
    then: Summary | None = None
    then_times: float = 1.0

    @property
    def bound_s(self) -> float:
        """Upper bound on the left side's time."""
        then_s = self.then_times * (self.then.median or 0.0) if self.then else 0.0
        return self.times * (self.right.median or 0.0) + then_s

    @property
    def bound_of_launches_s(self) -> Floats:
        """Bound for each launch; the two terms of a sum are added launch by launch, in their order."""
        right: Floats = self.times * np.array(self.right.launch_medians, dtype=np.float64)
        if self.then is None:
            return right
        then: Floats = self.then_times * np.array(self.then.launch_medians, dtype=np.float64)
        count = min(right.size, then.size)
        both: Floats = right[:count] + then[:count]
        return both

    def in_launches(self, uncertainty_s: float = 0.0) -> Floats:
        """Return the left side over (bound + `uncertainty_s`) in each launch that measured all sides."""
        sides = [self.left, self.right, *([self.then] if self.then else [])]
        left, right, *then = (case.per_launch.launches for case in sides)
        shared = sorted(left.keys() & right.keys() & (then[0].keys() if then else left.keys()))
        thens = {n: self.then_times * then[0][n] if then else 0.0 for n in shared}
        bounds = [self.times * right[n] + thens[n] + uncertainty_s for n in shared]
        each: Floats = np.array([left[n] for n in shared]) / np.array(bounds)
        return each


@dataclass(frozen=True)
class GuidelineCalls:
    """The times of MPI calls, by routine."""

    times: list[Summary]
    catalog: Catalog

    def of(self, routine: str, free: Iterable[str] = ()) -> list[Summary]:
        """Return the times of a routine as a plain program calls it; `free` parameters may have any value."""
        return [
            case
            for bound in self.catalog.bound_to(routine)
            for case in self.times
            if case.benchmark == bound.benchmark.name and bound.holds(case.parameters, free)
        ]

    def of_benchmark(self, name: str) -> list[Summary]:
        """Return the times of a benchmark."""
        return [case for case in self.times if case.benchmark == name]


Pairs = Callable[[GuidelineCalls], Iterator[GuidelineComparison]]


@dataclass(frozen=True)
class Guideline:
    """A guideline in words, and the pairs to compare."""

    name: str
    left: str
    right: str
    pairs: Pairs


def size(summary: Summary) -> int:
    """Return the message size in bytes; 0 if there is none."""
    return int(summary.parameters.get("message_bytes", 0))


def where(case: Summary) -> dict[str, str | int | float]:
    """Return the location of a finding about an MPI call."""
    return {"benchmark": case.benchmark, "ranks": case.ranks, "message_bytes": size(case), "layer": "mpi"}


def slowest_pair(left: Summary, pairs: list[Summary]) -> Summary | None:
    """Return the slowest of the two-rank messages over the same transport as a call on many ranks."""
    return max(
        (pair for pair in pairs if (left.transport, left.origin) == (pair.transport, pair.origin)),
        key=lambda pair: pair.median or 0.0,
        default=None,
    )
