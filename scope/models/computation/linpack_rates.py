"""R_max, N_max and N_1/2 of LINPACK, and what it reaches of the products on all cores.

R_max is the best rate of all sizes and settings on one number of processes, N_max its size, N_1/2 the size at
which half of it is reached: the figures of the TOP500 list (Dongarra, Luszczek and Petitet 2003, Concurrency and
Computation 15, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scope.models.fit import Bounds
from scope.models.fitting.draws import bounds, draw
from scope.models.fitting.ratios import Figure, ratio
from scope.models.ladder.ladder import Results
from scope.samples.samples import Floats
from scope.statistics.figures import LAUNCHES_FOR_INTERVAL
from scope.statistics.summary import Summary

BENCHMARK = "algorithm.linpack"
PRODUCT = "node.matrix_multiply"
SEED = 13


@dataclass(frozen=True)
class LinpackRates:
    """What the runs of LINPACK on one number of processes say together."""

    best: Summary
    """The rate that is R_max, in flop/s."""
    residual: float | None
    """The largest scaled residual of its repetitions."""
    n_half: Bounds | None
    n_half_reason: str
    """Why there is none; empty where there is."""
    product: Summary | None
    """The rate of products on as many processes, in flop/s."""
    efficiency: Figure | None
    """R_max over that rate."""

    @property
    def n_max(self) -> int:
        """The size of R_max."""
        return int(self.best.parameters["n"])


def linpack_rates(summaries: list[Summary]) -> LinpackRates | None:
    """Return the figures of the most processes over their best transport; None where LINPACK did not run."""
    known = Results([s for s in summaries if s.primary and s.valid and s.median])
    rates = known.of(BENCHMARK, "flops_per_s")
    if not rates:
        return None
    most = max(one.ranks for one in rates)
    best = max((one for one in rates if one.ranks == most), key=lambda one: one.median or 0.0)
    alike = [one for one in rates if (one.ranks, one.transport, one.origin) == (most, best.transport, best.origin)]
    n_half, reason = _n_half(best, alike)
    residuals = [
        s for s in known.of(BENCHMARK, "residual") if (s.label, s.placement) == (best.label, best.placement)
    ]
    products = [s for s in known.of(PRODUCT, "flops_per_s", precision="double") if s.ranks == most]
    product = max(products, key=lambda one: int(one.parameters["size"]), default=None)
    return LinpackRates(
        best=best,
        residual=residuals[0].maximum if residuals else None,
        n_half=n_half,
        n_half_reason=reason,
        product=product,
        efficiency=ratio(_figure(best), _figure(product)) if product is not None else None,
    )


def _figure(one: Summary) -> Figure:
    return Figure(one.median or 0.0, one.ci_low, one.ci_high)


def _n_half(best: Summary, rates: list[Summary]) -> tuple[Bounds | None, str]:
    """Interpolate the best rate of each size between the last size below half of R_max and the next.

    Fewer than six launches give no interval.
    """
    fastest: dict[int, Summary] = {}
    for one in rates:
        n = int(one.parameters["n"])
        if n <= int(best.parameters["n"]) and (n not in fastest or (one.median or 0) > (fastest[n].median or 0)):
            fastest[n] = one
    sizes = sorted(fastest)
    half = (best.median or 0.0) / 2
    below = [pair for pair in pairwise(sizes) if (fastest[pair[0]].median or 0.0) < half]
    if not below:
        return None, f"at n={sizes[0]}, the smallest that was run, the rate is more than half already"
    low, high = below[-1]
    ends = best, fastest[low], fastest[high]
    if min(len(one.launch_medians) for one in ends) < LAUNCHES_FOR_INTERVAL:
        wanted, first, second = (np.array([one.median or 0.0]) for one in ends)
        return Bounds(value=float(_between(low, high, first, second, wanted / 2)[0])), ""
    random = np.random.default_rng(SEED)
    drawn = {id(one): draw(one, random) for one in ends}
    first, second = drawn[id(fastest[low])], drawn[id(fastest[high])]
    return bounds(_between(low, high, first, second, drawn[id(best)] / 2)), ""


def _between(low: int, high: int, first: Floats, second: Floats, wanted: Floats) -> Floats:
    """Return where the rate, straight over log n between two sizes, is the wanted one; beyond them an end."""
    rise = np.where(second > first, second - first, np.nan)
    share = np.clip(np.nan_to_num((wanted - first) / rise, nan=0.5), 0.0, 1.0)
    return np.asarray(low * (high / low) ** share, dtype=np.float64)
