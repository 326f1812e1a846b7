"""The record of a tuning, `tune.json`: what was asked for, predicted, tried and concluded."""

from __future__ import annotations

from typing import Literal

from scope.models.fit import Bounds
from scope.strict import Strict
from scope.tune.candidates import Candidate

FILE = "tune.json"

Stage = Literal["screen", "refine", "decide", "sizes"]
"""Few equations and many candidates; more of fewer; all of the last; the chosen one at many sizes."""


class Settings(Strict):
    """What was asked for."""

    ranks: int
    n: int | None = None
    """None: from the memory and `seconds`."""
    memory_fraction: float = 0.8
    seconds: float | None = 10.0
    """The longest that one solution may take by the prediction; None: as long as it takes."""
    blocks: list[int]
    tries: int = 8
    launches: int = 6


class Size(Strict):
    """How many equations the last tries have, and why."""

    n: int
    memory_n: int
    """What the memory would hold."""
    why: str


class Predicted(Strict):
    """What a candidate would take at the last size."""

    candidate: Candidate
    seconds: float


class Try(Strict):
    """One candidate of a round, at one size."""

    candidate: Candidate
    n: int
    why: str
    """Why it is tried."""
    predicted_s: float
    measured_s: Bounds | None = None
    """None: not yet, or not at all, and `verdict` says why."""
    slower: Bounds | None = None
    """Its time over that of the fastest of the round, launch by launch, less 1."""
    expected_s: float | None = None
    """What it would take at the last size: the prediction there, as wrong as it was here."""
    behind: float | None = None
    """That over the least of its round, less 1."""
    kept: bool | None = None
    verdict: str = ""
    """Why it was kept or dropped."""

    @property
    def predicted_flops_per_s(self) -> float:
        """The predicted rate."""
        return flops(self.n) / self.predicted_s

    @property
    def flops_per_s(self) -> Bounds | None:
        """The measured rate."""
        if self.measured_s is None:
            return None
        time, work = self.measured_s, flops(self.n)
        return Bounds(
            value=work / time.value,
            low=work / time.high if time.high else None,
            high=work / time.low if time.low else None,
        )

    @property
    def error(self) -> float | None:
        """Predicted over measured, less 1."""
        return self.predicted_s / self.measured_s.value - 1 if self.measured_s else None


class Round(Strict):
    """Candidates that were tried in the same launches."""

    stage: Stage
    tries: list[Try]

    @property
    def judged(self) -> bool:
        """Whether its tries were measured and judged."""
        return all(each.kept is not None for each in self.tries)


class Conclusion(Strict):
    """What it comes to."""

    chosen: Candidate
    n: int
    seconds: Bounds
    winner: bool
    """Whether it was certainly faster than the others; else it is the plainest of those within the noise."""
    words: list[str]


class Tuning(Strict):
    """`tune.json`."""

    format: int
    settings: Settings
    crowding: float | None = None
    """How many times as long a product takes where all processes work at once."""
    source: str = ""
    """Of the formulas."""
    size: Size | None = None
    predicted: list[Predicted] = []
    """Every possible candidate, the fastest first."""
    rounds: list[Round] = []
    conclusion: Conclusion | None = None


def flops(n: int) -> float:
    """Return the operations that HPL counts for n equations."""
    return (2 / 3 * n + 3 / 2) * n * n
