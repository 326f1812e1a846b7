"""The record of a tuning, `tune.json`: settings, predictions, trials and conclusion."""

from typing import Literal

from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict
from hpcscope.tune.candidates import Candidate

FILE = "tune.json"

Stage = Literal["screen", "refine", "decide", "sizes"]
"""Many candidates at a small order, fewer at a larger one, the last at full order, the chosen at many sizes."""


class LinpackSearchSettings(Strict):
    """The settings of the search."""

    ranks: int
    n: int | None = None
    """None: determined by the memory and `seconds`."""
    memory_fraction: float = 0.8
    seconds: float | None = 10.0
    """Limit on the predicted time of one solution; None: unlimited."""
    blocks: list[int]
    tries: int = 8
    launches: int = 6


class Size(Strict):
    """The order of the matrix in the last trials, and the reason for it."""

    n: int
    memory_n: int
    """The largest order that fits into memory."""
    why: str


class PredictedTime(Strict):
    """The predicted time of a candidate at the last size."""

    candidate: Candidate
    seconds: float


class Try(Strict):
    """One candidate of a round, at one size."""

    candidate: Candidate
    n: int
    why: str
    """Why it is measured."""
    predicted_s: float
    measured_s: Estimate | None = None
    """None: not measured yet, or not possible for the reason in `verdict`."""
    slower: Estimate | None = None
    """Its time relative to the fastest of the round, paired by launch, minus 1."""
    expected_s: float | None = None
    """Expected time at the last size: the prediction, corrected by its error here."""
    behind: float | None = None
    """`expected_s` relative to the smallest of the round, minus 1."""
    kept: bool | None = None
    verdict: str = ""
    """Why it was kept or dropped."""

    @property
    def predicted_flops_per_s(self) -> float:
        """The predicted rate."""
        return flops(self.n) / self.predicted_s

    @property
    def flops_per_s(self) -> Estimate | None:
        """The measured rate."""
        return self.measured_s.as_rate(flops(self.n)) if self.measured_s else None

    @property
    def error(self) -> float | None:
        """Predicted over measured, minus 1."""
        return self.predicted_s / self.measured_s.value - 1 if self.measured_s else None


class Round(Strict):
    """Candidates that were measured in the same launches."""

    stage: Stage
    tries: list[Try]

    @property
    def judged(self) -> bool:
        """Whether its trials were measured and judged."""
        return all(trial.kept is not None for trial in self.tries)


class Conclusion(Strict):
    """The result of the search."""

    chosen: Candidate
    n: int
    seconds: Estimate
    winner: bool
    """Whether it was significantly faster than all others; else it is closest to the defaults within the noise."""
    words: list[str]


class Tuning(Strict):
    """`tune.json`."""

    format: int
    settings: LinpackSearchSettings
    contention: float | None = None
    """The slowdown of a product when all ranks compute at once."""
    source: str = ""
    """Source of the formulas."""
    size: Size | None = None
    predicted: list[PredictedTime] = []
    """Every possible candidate, the fastest first."""
    rounds: list[Round] = []
    conclusion: Conclusion | None = None


def flops(n: int) -> float:
    """Return the operations that HPL counts for order n."""
    return (2 / 3 * n + 3 / 2) * n * n
