"""Several straight lines over message sizes, as for a library with several protocols."""

from functools import partial

import numpy as np

from hpcscope.models.fitting.curve import Curve
from hpcscope.models.fitting.fit import Breakpoint, Fit, FittedParameter, NotFitted, Segment
from hpcscope.models.fitting.least_squares import LinearFit, fit_linear
from hpcscope.models.fitting.model import make_fit
from hpcscope.samples.samples import Floats
from hpcscope.statistics.estimate import Estimate

FEWEST_POINTS = 3
"""Fewest points of a segment: any two points are on a line, so they say nothing about a jump."""
MOST_SEGMENTS = 6


def best_divisions(
    x: Floats, y: Floats, sigma: Floats, fewest: int = FEWEST_POINTS
) -> list[tuple[float, list[int]]]:
    """Return for 1, 2, ... segments the least weighted sum of squares and where the segments start.

    Lines of neighboring segments need not meet, because a change of protocol looks like a jump. A falling line is
    replaced by a constant. The dynamic program is exact over all divisions with at least `fewest` points in each
    segment; Bellman & Roth 1969, J. Am. Stat. Assoc. 64 (327), 1079-1084. O(points^2 segments).
    """
    count = x.size
    cost = np.full((count + 1, count + 1), np.inf)
    for start in range(count + 1 - fewest):
        cost[start, start + fewest :] = line_costs(x[start:], y[start:], sigma[start:])[fewest - 1 :]
    best = cost[0].copy()
    starts: list[list[int]] = [[0] for _ in range(count + 1)]
    divisions = [(float(best[count]), starts[count])]
    for _ in range(1, min(MOST_SEGMENTS, count // fewest)):
        through = best[:, None] + cost
        last = through.argmin(axis=0)
        best = through[last, np.arange(count + 1)]
        starts = [[*starts[last[end]], int(last[end])] for end in range(count + 1)]
        divisions.append((float(best[count]), starts[count]))
    return [division for division in divisions if np.isfinite(division[0])]


def line_costs(x: Floats, y: Floats, sigma: Floats) -> Floats:
    """Return the weighted sums of squares around the best nonfalling line through the first 1, 2, ... points."""
    weight, from_first = 1 / sigma**2, x - x[0]
    total, of_x, of_y, of_xx, of_xy, of_yy = (
        np.cumsum(weight * term) for term in (np.ones_like(x), from_first, y, from_first**2, from_first * y, y**2)
    )
    xx, xy, yy = of_xx - of_x**2 / total, of_xy - of_x * of_y / total, of_yy - of_y**2 / total
    slope = np.divide(np.maximum(xy, 0.0), xx, out=np.zeros_like(x), where=xx > 0)
    return np.asarray(np.maximum(yy - 2 * slope * xy + slope**2 * xx, 0.0), dtype=np.float64)


FEWEST_SIZES = 2 * FEWEST_POINTS
COST_OF_A_BREAK = 3
"""Parameters that a break counts for, besides its line: its place is searched for (Zhang & Siegmund 2007)."""


class PiecewiseHockney:
    """t = a_i + b_i n within segment i; jumps between segments are allowed."""

    name = "piecewise_hockney"
    equation = "t(n) = latency_s[i] + per_byte_s[i] n in segment i"
    source = (
        "Bellman & Roth 1969, J. Am. Stat. Assoc. 64 (327), 1079-1084 (exact segmentation); "
        "Zhang & Siegmund 2007, Biometrics 63 (1), 22-32 (number of segments)"
    )

    def fit(self, curve: Curve) -> Fit | NotFitted | None:
        """Find the segments and fit their lines; one segment is left to Hockney's model."""
        if curve.variable != "message_bytes" or curve.definition == "observed":
            return None
        sizes = curve.message_bytes
        if sizes.size < FEWEST_SIZES:
            reason = f"{sizes.size} message sizes; a breakpoint needs at least {FEWEST_SIZES}"
            return curve.not_fitted(self.name, reason)
        bic, starts = divide(curve)
        if len(starts) == 1:
            return curve.not_fitted(self.name, "one segment describes the data: this is Hockney's model")
        lines = Lines(curve, starts)
        fit = make_fit(self, curve, lines.linear, lines.whole_curve())
        return fit.model_copy(
            update={"bic": bic, "segments": lines.segments(), "breakpoints": lines.breakpoints()}
        )


def divide(
    curve: Curve, break_costs: int = COST_OF_A_BREAK, fewest: int = FEWEST_POINTS
) -> tuple[float, list[int]]:
    """Return the lowest BIC over all divisions of a curve, and where its segments start."""
    points = curve.message_bytes.size
    return min(
        (cost + (2 * len(starts) + break_costs * (len(starts) - 1)) * float(np.log(points)), starts)
        for cost, starts in best_divisions(curve.message_bytes, curve.time_s, curve.sigma_s, fewest)
    )


def suspects(curve: Curve) -> list[tuple[int, int]]:
    """Return the neighboring sizes between which a curve may break, so that sizes in between are worth measuring.

    Measuring again costs little, but a missed break is lost: a break counts as one parameter, and two sizes do.
    """
    if curve.variable != "message_bytes" or curve.definition == "observed":
        return []
    sizes = curve.message_bytes
    return [(int(sizes[start - 1]), int(sizes[start])) for start in divide(curve, 1, 2)[1][1:]]


class Lines:
    """The lines of given segments as one linear model: coefficients a_0, b_0, a_1, b_1, ..."""

    def __init__(self, curve: Curve, starts: list[int]) -> None:
        self.sizes = curve.message_bytes
        self.starts = starts
        self.ends = [*starts[1:], self.sizes.size]
        self.linear = self._fit(curve)

    def _fit(self, curve: Curve) -> LinearFit:
        columns = [column for i in range(len(self.starts)) for column in self._columns(i)]
        design = np.column_stack(columns)
        free = fit_linear(design, curve)
        # A falling line becomes a constant, as in the segmentation.
        rising = np.ones(design.shape[1])
        rising[1::2] = free.coefficients[1::2] > 0
        return free if rising.all() else fit_linear(design * rising, curve)

    def _columns(self, segment: int) -> list[Floats]:
        inside = np.zeros_like(self.sizes)
        inside[self.starts[segment] : self.ends[segment]] = 1.0
        return [inside, inside * self.sizes]

    def segments(self) -> list[Segment]:
        """Return the line of each segment with intervals."""
        found = []
        for i in range(len(self.starts)):
            latency = self.linear.parameter("latency_s", "s", lambda c, i=i: float(c[2 * i]))  # type: ignore[misc]
            per_byte = self.linear.parameter("per_byte_s", "s/byte", lambda c, i=i: float(c[2 * i + 1]))  # type: ignore[misc]
            if latency is None or per_byte is None:  # pragma: no cover - both are finite by construction
                raise AssertionError("a straight line through finite points is finite")
            low, high = self.sizes[self.starts[i]], self.sizes[self.ends[i] - 1]
            found.append(Segment(low=float(low), high=float(high), latency_s=latency, per_byte_s=per_byte))
        return found

    def breakpoints(self) -> list[Breakpoint]:
        """Return the breaks between segments, with their steps."""
        found = []
        for i, start in enumerate(self.starts[1:]):
            last, first = float(self.sizes[start - 1]), float(self.sizes[start])
            # The break is anywhere between the two sizes: take the step halfway, with bounds from both ends.
            ends = [self.linear.interval(partial(_step, i, n)) for n in (last, first)]
            step = Estimate(
                value=(ends[0][0] + ends[1][0]) / 2,
                low=min(low for _, low, _ in ends),
                high=max(high for _, _, high in ends),
            )
            found.append(Breakpoint(last_before=last, first_after=first, jump_s=step))
        return found

    def whole_curve(self) -> list[FittedParameter | None]:
        """Return latency of the first segment, bandwidth of the last, and the size that reaches half of it."""
        parameters = [self.linear.parameter("latency_s", "s", lambda c: float(c[0]))]
        if self.linear.interval(lambda c: float(c[-1]))[1] > 0:
            parameters += [
                self.linear.parameter("r_inf_bytes_per_s", "B/s", lambda c: float(1 / c[-1])),
                self.linear.parameter("n_half_bytes", "B", self._half),
            ]
        return parameters

    def _half(self, c: Floats) -> float:
        """Return the smallest n with n / t(n) = r_inf / 2, or the break if the rate jumps across this value."""
        half = 1 / (2 * c[-1])
        for i in range(len(self.starts)):
            low = self.sizes[self.starts[i]]
            high = self.sizes[self.ends[i] - 1] if i + 1 < len(self.starts) else np.inf
            a, b = c[2 * i], c[2 * i + 1]
            if low >= half * (a + b * low) and low > 0:
                return float(low)
            n = a * half / (1 - b * half) if b * half < 1 else np.inf
            if low <= n <= high:
                return float(n)
        return float("nan")


def _step(i: int, n: float, c: Floats) -> float:
    """Return the step at size n from the line of segment i to the next line."""
    return float(c[2 * i + 2] - c[2 * i] + (c[2 * i + 3] - c[2 * i + 1]) * n)


MODELS = (PiecewiseHockney(),)
