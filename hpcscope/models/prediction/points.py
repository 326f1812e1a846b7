"""A predicted case, beside its measurement if there is one."""

from typing import Literal

from hpcscope.catalog.benchmark import Value
from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict


class PredictedPoint(Strict):
    """The phase formulas of one case, beside its measurement if there is one."""

    size: int
    ranks: int
    grid: dict[str, Value]
    """Extents of the process grid; 0: the algorithm's choice."""
    compute_s: Estimate
    """Intervals hold the uncertainty of the parameters and the formulas' error.

    There are none where fewer than six measured points tell that error."""
    communicate_s: Estimate
    """Distribution, exchange and collection, the root's handling of them included; nothing on one process."""
    hidden_s: float = 0.0
    """Communication that goes on behind the computation, in `total_s` and `communicate_s` only where computation
    ends first: the most that they grow where nothing is hidden."""
    total_s: Estimate
    """On one process, as measured where it was."""
    speedup: Estimate
    """Relative to one process; 1 there."""
    role: Literal["input", "validated", "predicted"]
    """Input: the one process from which the rates are taken; validated: measured, and no input; else predicted."""
    measured_compute_s: float | None = None
    measured_communicate_s: float | None = None
    measured_total_s: Estimate | None = None
    error: float | None = None
    """Predicted over measured total, less one; only of validated points."""
    oversubscribed: bool = False
    """More processes than processors: their waiting for one is not predicted, and the error is not counted."""
    beyond: list[str] = []
    """Extrapolations: sizes or messages outside the measured range of the lower levels."""
    interval_errors: int = 0
    """Measured points whose errors made the intervals; 0: they were too few, and there are no intervals."""

    @property
    def is_counted(self) -> bool:
        """Whether its error is that of the formulas: measured, with a processor for each process."""
        return self.role == "validated" and not self.oversubscribed
