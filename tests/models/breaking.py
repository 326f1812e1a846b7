"""Curves over message sizes that bend or jump, measured, and measured again where they may break."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from hpcscope.findings.run.mpi.protocol_switch import SMALLEST_STEP, step_share
from hpcscope.models.communication.piecewise_hockney import PiecewiseHockney, suspects
from hpcscope.models.fitting.curve import Curve, curves
from hpcscope.models.fitting.fit import Breakpoint, Fit
from hpcscope.plan.placement import Placement
from hpcscope.plan.refine import ROUNDS, Suspect
from hpcscope.statistics.summary import Summary
from tests.declared import catalog
from tests.models.curves import summary

Random = np.random.Generator
Truth = Callable[[float], float]

LAUNCHES = 6
PING_PONG = {"mode": "standard", "completion": "blocking"}
BASELINE = (0, 1, 64, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304)
"""Sizes of the ping-pong in the baseline."""
COMMON = 0.15
"""Standard deviation of the logarithm of what a launch does to all sizes."""
SLOWEST, FASTEST = 5e8, 16e9
"""Bytes per second of the pieces of a curve."""
APART = 4
"""Factor from one change of slope to the next: the longest step between the baseline's sizes above 1 KiB."""


def measured(random: Random, truth: Truth, sizes: Sequence[int], spread: float) -> list[Summary]:
    """Measure in six launches that are each slower or faster throughout; single points scatter by `spread`."""
    factors = np.exp(random.normal(0, COMMON, LAUNCHES))
    points = []
    for size in sizes:
        times = truth(size) * factors * np.exp(random.normal(0, spread, LAUNCHES))
        numbers = range(1, LAUNCHES + 1)
        points.append(
            summary([np.array([one]) for one in times], message_bytes=size, numbers=numbers, **PING_PONG)
        )
    return points


def looked_at_again(random: Random, truth: Truth, sizes: Sequence[int], spread: float) -> list[Summary]:
    """Measure with the further sizes of `scope run --refine`."""
    points = measured(random, truth, sizes, spread)
    for _ in range(ROUNDS):
        curve = curve_of(points)
        known = tuple(map(int, curve.message_bytes))
        suspected = Suspect("mpi.latency", (), (2, "default", Placement()), known, tuple(suspects(curve)))
        if further := suspected.further():
            points = measured(random, truth, sorted({*known, *further}), spread)
    return points


def curve_of(points: list[Summary]) -> Curve:
    """Return the curve of the times."""
    return curves(points, catalog())[0]


def claims(points: list[Summary]) -> Iterator[tuple[float, Breakpoint]]:
    """Yield the jumps that a finding would claim, each with its share of the time."""
    fit = PiecewiseHockney().fit(curve_of(points))
    for point in fit.breakpoints if isinstance(fit, Fit) else ():
        if point.is_jump and abs(share := step_share(fit, point)) >= SMALLEST_STEP:
            yield share, point


def rate(random: Random) -> float:
    """Return the bytes per second of a piece."""
    return float(np.exp(random.uniform(np.log(SLOWEST), np.log(FASTEST))))


def straight(random: Random) -> Truth:
    """Return a straight line."""
    per_byte = 1 / rate(random)
    return lambda n: 1e-6 + n * per_byte


def bent(random: Random, pieces: int = 3, apart: float = APART) -> Truth:
    """Return a continuous curve of straight pieces whose slopes change at random sizes."""
    while True:
        at = np.sort(np.exp(random.uniform(np.log(256), np.log(1 << 20), pieces - 1)))
        if (at[1:] >= apart * at[:-1]).all():
            break
    ends, slopes = [0.0, *at, np.inf], [1 / rate(random) for _ in range(pieces)]
    return lambda n: (
        1e-6
        + sum(
            slope * (min(n, high) - low)
            for slope, low, high in zip(slopes, ends, ends[1:], strict=False)
            if n > low
        )
    )


def steep_between(random: Random) -> Truth:
    """Return a continuous curve whose steep piece lies between two of the baseline's sizes."""
    slow = random.uniform(5, 20)
    return lambda n: 1e-6 + (min(n, 20000) + slow * min(max(n - 20000, 0), 40000) + max(n - 60000, 0)) / 12e9


def smooth(random: Random) -> Truth:
    """Return a curve that bends smoothly to the double slope."""
    half = float(np.exp(random.uniform(np.log(4096), np.log(1 << 20))))
    return lambda n: 1e-6 + n / 8e9 * (1 + n / (n + half))


CONTINUOUS = {
    "a straight line": straight,
    "two slopes": partial(bent, pieces=2),
    "three slopes": bent,
    "a steep piece between two sizes": steep_between,
    "a smooth bend": smooth,
}


def jumping(random: Random, share: float) -> tuple[int, Truth]:
    """Return a curve that jumps by a share of its time above a size, and that size; the slope may change there."""
    limit = int(2 ** random.integers(9, 19) * random.choice([1.0, random.uniform(0.6, 1)]))
    slope, after = 1 / 8e9, random.choice([1 / 8e9, 1 / random.uniform(4e9, 16e9)])
    without = 1e-6 + limit * slope
    return limit, lambda n: 1e-6 + n * slope if n <= limit else without * (1 + share) + (n - limit) * after
