"""Fitted models: parameters with intervals, range of validity, residuals, and why they were chosen or rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from hpcscope.plan.case import Case
from hpcscope.plan.refine import NARROWEST_GAP
from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict

Variable = Literal["message_bytes", "vector_length", "intensity", "ranks", "message_bytes_and_ranks"]
"""The variable of a curve: a parameter of the benchmark, the number of ranks, or both."""


class FittedParameter(Estimate):
    """A fitted parameter with its 95 % interval."""

    low: float
    high: float
    name: str
    unit: str


class FitPoint(Strict):
    """One measured point with its fitted value."""

    x: float
    measured: float
    measured_low: float
    measured_high: float
    fitted: float
    ranks: int | None = None
    """The second variable, if there are two."""


class Segment(Strict):
    """A range of sizes with one straight line of its own: t = latency + n * per_byte."""

    low: float
    high: float
    latency_s: FittedParameter
    per_byte_s: FittedParameter


class LibrarySetting(Strict):
    """A setting of the MPI library or of a transport, or what is full on a network, with its size in bytes."""

    name: str
    value: int


class Breakpoint(Strict):
    """Where one segment ends and the next begins: the last size of the one, the first of the other."""

    last_before: float
    first_after: float
    jump_s: Estimate
    """Step of the fitted time halfway between the two sizes, positive if longer messages take more time.

    Its interval contains the steps at both sizes."""
    settings: list[LibrarySetting] = []
    """Settings of the library that switch between these sizes, or what is full there on a network (a segment, a
    page); the likeliest first."""

    @property
    def is_located(self) -> bool:
        """Whether the sizes are close enough to tell a jump from a short steep piece of the curve."""
        return self.first_after <= NARROWEST_GAP * max(self.last_before, 1)

    @property
    def is_jump(self) -> bool:
        """Whether the time jumps significantly: the break is located and the interval of the step excludes 0."""
        low, high = self.jump_s.low, self.jump_s.high
        return self.is_located and low is not None and high is not None and (low > 0 or high < 0)


class Fit(Strict):
    """A model of a metric over one variable, everything else held fixed."""

    model: str
    equation: str
    source: str
    """Paper, equation or page."""
    subject: Case
    """The case without the variable; its `ranks` is the largest number if the ranks vary."""
    metric: str
    definition: str
    variable: Variable
    low: float
    high: float
    parameters: list[FittedParameter]
    left_out: list[str] = []
    """Parameters that the data cannot determine, each with the reason."""
    notes: list[str] = []
    """Remarks on the parameters, for example the largest size for which they are valid."""
    segments: list[Segment] = []
    breakpoints: list[Breakpoint] = []
    points: list[FitPoint]
    relative_error: float
    """Median absolute relative residual."""
    bic: float
    chosen: bool
    reason: str
    """Why the data chose the model, or why it was rejected."""

    def with_settings(self, settings: Callable[[Breakpoint], list[LibrarySetting]]) -> Fit:
        """Return the fit with what switches, or is full, at each of its breaks."""
        named = [point.model_copy(update={"settings": settings(point)}) for point in self.breakpoints]
        return self.model_copy(update={"breakpoints": named})


class NotFitted(Strict):
    """A model that was not fitted to a curve, and why."""

    model: str
    subject: Case
    metric: str
    definition: str
    variable: Variable
    reason: str
