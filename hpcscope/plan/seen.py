"""What the launches of a run have shown about its cases so far."""

from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True)
class SeenVisit:
    """The result of one visit to a case, that is, of the case in one launch."""

    duration_s: float
    """Includes preparation and verification."""
    median_s: float | None
    """Median time of one operation; None if no repetition counts."""
    warmup: int = 0
    """Number of warm-up repetitions."""


@dataclass
class Seen:
    """The visits to a case so far."""

    visits: dict[int, SeenVisit] = field(default_factory=dict)
    """Visits by launch, in the order in which they took place."""

    @property
    def duration_s(self) -> float:
        """Typical duration of a visit."""
        return median(visit.duration_s for visit in self.visits.values())

    @property
    def medians_s(self) -> list[float]:
        """The time of an operation in each visit that has one."""
        return [visit.median_s for visit in self.visits.values() if visit.median_s is not None]

    @property
    def warmup(self) -> int:
        """Warm-up repetitions of the first visit, which is the longest."""
        return next(iter(self.visits.values())).warmup
