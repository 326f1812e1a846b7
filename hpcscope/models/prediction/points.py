"""A predicted case, with its measurement if there is one."""

from typing import Literal

from hpcscope.catalog.benchmark import Value
from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict


class PredictedPoint(Strict):
    """The phase formulas of one case, with its measurement if there is one."""

    size: int
    ranks: int
    grid: dict[str, Value]
    """Extents of the process grid; 0: the algorithm's choice."""
    compute_s: Estimate
    """Intervals include the uncertainty of the parameters and the formulas' error.

    There are no intervals if fewer than six measured points give that error."""
    communicate_s: Estimate
    """Distribution, exchange and collection, including the root's part of them; 0 on one rank."""
    hidden_s: float = 0.0
    """Communication that overlaps with computation. `total_s` and `communicate_s` contain it only if
    computation ends first; they grow by at most this time if nothing is hidden."""
    total_s: Estimate
    """On one rank, the measured time if there is one."""
    speedup: Estimate
    """Relative to one rank; 1 on one rank."""
    role: Literal["input", "validated", "predicted"]
    """Input: the one-rank case that gives the rates; validated: measured, not an input; predicted: all others."""
    measured_compute_s: float | None = None
    measured_communicate_s: float | None = None
    measured_total_s: Estimate | None = None
    error: float | None = None
    """Predicted over measured total, minus 1; only for validated points."""
    oversubscribed: bool = False
    """More ranks than processors: waiting for a processor is not predicted, and the error is not counted."""
    beyond: list[str] = []
    """Extrapolations: sizes or messages outside the measured range of the lower levels."""
    interval_errors: int = 0
    """Number of measured points whose errors gave the intervals; 0: too few, so there are no intervals."""

    @property
    def is_counted(self) -> bool:
        """Whether the error counts as the formulas' error: the case was measured without oversubscription."""
        return self.role == "validated" and not self.oversubscribed
