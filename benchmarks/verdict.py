"""The verdict of interleaved launches of two programs: whether they agree."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hpcscope.statistics.order_statistics import median_interval

BAND = (0.97, 1.03)
"""Ratios that count as the same."""
TITLES = f"{'Scope us':>12}{'other us':>12}{'ratio':>8}  95 % interval"
"""Above the columns of `Verdict.columns`."""


@dataclass(frozen=True)
class Verdict:
    """The ratio of two programs' figures over pairs of launches."""

    ours: float
    theirs: float
    ratio: float
    """The median over the pairs."""
    low: float
    high: float
    """Its interval, 95 % for six pairs and more."""
    band: tuple[float, float] = BAND

    @property
    def word(self) -> str:
        """`differs` where the interval lies outside the band, `undecided` where it is wider than the band."""
        least, most = self.band
        if self.high < least or self.low > most:
            return "differs"
        return "undecided" if self.high - self.low > most - least else "agrees"

    def columns(self) -> str:
        """Return the figures and the word, as columns of a table."""
        figures = f"{self.ours * 1e6:>12.3f}{self.theirs * 1e6:>12.3f}{self.ratio:>8.3f}"
        return f"{figures}  {self.low:.3f} to {self.high:.3f}  {self.word}"


def summary(words: Sequence[str]) -> int:
    """Print how many comparisons ended how, and return the exit code: 1 where any two programs differ."""
    print(", ".join(f"{words.count(word)} {word}" for word in ("agrees", "undecided", "differs")))
    return int("differs" in words)


def alternated(ours: Callable[[], float], theirs: Callable[[], float], launches: int) -> Verdict:
    """Start two programs in turn, each first every second time."""
    both: tuple[list[float], list[float]] = ([], [])
    for launch in range(launches):
        for which in (0, 1) if launch % 2 else (1, 0):
            both[which].append((ours, theirs)[which]())
    return verdict(*both)


def verdict(ours: Sequence[float], theirs: Sequence[float], band: tuple[float, float] = BAND) -> Verdict:
    """Judge the figures of pairs of launches."""
    ratios = np.array([one / other for one, other in zip(ours, theirs, strict=True)])
    middle = float(np.median(ratios))
    interval = median_interval(ratios)
    low, high = (interval.low, interval.high) if interval else (middle, middle)
    return Verdict(statistics.median(ours), statistics.median(theirs), middle, low, high, band)
