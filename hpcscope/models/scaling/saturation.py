"""The bandwidth of a file system over the number of its clients: what one client reaches, and what they share.

Each of p ranks transfers n bytes in T(p) = c + p s: c is the time that a rank needs for its own bytes regardless
of the others, s the time of its bytes in the part that all ranks share: a server, a disk, a link. With B(p) = p n
/ T(p), one rank reaches n / (c + s), and many ranks approach n / s. This is the asymptotic bound of a closed
queueing network with one saturated station (Lazowska, Zahorjan, Graham & Sevcik 1984, Quantitative System
Performance, ch. 5), without its corner.
"""

from collections import defaultdict

import numpy as np

from hpcscope import units
from hpcscope.catalog.benchmark import Pattern
from hpcscope.models.fitting.curve import TOLERANCE
from hpcscope.models.fitting.draws import draw
from hpcscope.models.fitting.misfit import WORST_ERROR, quarter_miss
from hpcscope.models.measurements import Measurements
from hpcscope.models.scaling.amdahl import nonnegative
from hpcscope.plan.case import Case
from hpcscope.samples.records import Origin
from hpcscope.samples.samples import Floats
from hpcscope.statistics.bootstrap import estimate
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict

SEED = 11
PATTERNS: tuple[Pattern, ...] = ("file_write", "file_read")
FEWEST_COUNTS = 3
ENOUGH = 0.9
"""Fraction of the saturated bandwidth above which more ranks gain nothing that pays."""


class ClientsPoint(Strict):
    """The bandwidth that a number of ranks reaches together."""

    ranks: int
    bytes_per_s: Estimate


class Saturation(Strict):
    """Bandwidth over the number of ranks that access files together."""

    subject: Case
    """The case on the largest number of ranks."""
    origin: Origin
    alone_bytes_per_s: Estimate | None
    """Bandwidth of one rank by the law; None if no law was fitted."""
    saturated_bytes_per_s: Estimate | None
    """Bandwidth that many ranks approach; None if the shared part cannot be distinguished from 0."""
    enough_ranks: Estimate | None
    """The number of ranks that reach 90 % of it; 1 if one rank does."""
    relative_error: float | None
    """Median absolute relative residual; None if no law was fitted."""
    reason: str
    """Why there is no law, or no saturation; empty if there are both."""
    points: list[ClientsPoint]
    """The measured bandwidths, by number of ranks."""


def saturations(measurements: Measurements) -> list[Saturation]:
    """Return the saturation of every way to access files that was measured on several numbers of ranks."""
    groups: dict[tuple[object, ...], list[Summary]] = defaultdict(list)
    for pattern in PATTERNS:
        for layer in ("storage", "mpi"):
            for on in measurements.standing(pattern, layer, "B/s"):
                case = on.summary
                if not measurements.is_oversubscribed(case):
                    parameters = sorted((name, str(value)) for name, value in case.parameters.items())
                    groups[case.benchmark, case.metric, case.transport, case.origin, *parameters].append(case)
    several = [sorted(group, key=lambda one: one.ranks) for group in groups.values()]
    return [_saturation(group) for group in several if len({case.ranks for case in group}) > 1]


def _saturation(group: list[Summary]) -> Saturation:
    random = np.random.default_rng(SEED)
    ranks = np.array([case.ranks for case in group], dtype=np.float64)
    drawn = np.array([draw(case, random) for case in group])
    alone = saturated = enough = error = None
    reason = ""
    if ranks.size < FEWEST_COUNTS:
        reason = f"{ranks.size} rank counts with a processor for each rank; {FEWEST_COUNTS} are needed"
    else:
        own, shared, fitted = _fit(ranks, drawn)
        errors = np.abs(fitted / drawn[:, 0] - 1)
        if (miss := quarter_miss(errors)) > WORST_ERROR:
            away = units.percent(miss)
            reason = f"the law does not describe the bandwidths: a quarter of the points are off by {away} or more"
        else:
            alone = estimate(1 / (own + shared))
            saturated, enough, reason = _limit(own, shared)
            error = float(np.median(errors))
    return Saturation(
        subject=group[-1].case,
        origin=group[-1].origin,
        alone_bytes_per_s=alone,
        saturated_bytes_per_s=saturated,
        enough_ranks=enough,
        relative_error=error,
        reason=reason,
        points=[ClientsPoint(ranks=case.ranks, bytes_per_s=case.estimate) for case in group],
    )


def _fit(ranks: Floats, drawn: Floats) -> tuple[Floats, Floats, Floats]:
    """Fit seconds per byte, p / B(p) = own + p shared; own and shared have the shape (1 + draws,)."""
    per_byte_s = ranks[:, None] / drawn
    sigma = per_byte_s[:, 0] * np.hypot(drawn[:, 1:].std(axis=1) / drawn[:, 0], TOLERANCE)
    design = np.column_stack([np.ones_like(ranks), ranks])
    own, shared = nonnegative(design / sigma[:, None], per_byte_s / sigma[:, None])
    return own, shared, ranks / (design @ np.array([own[0], shared[0]]))


def _limit(own: Floats, shared: Floats) -> tuple[Estimate | None, Estimate | None, str]:
    """Return the saturated bandwidth and the number of ranks that reach 90 % of it, or why they are unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        counts = np.where(shared > 0, np.maximum(ENOUGH / (1 - ENOUGH) * own / shared, 1.0), np.inf)
        limits = np.where(shared > 0, 1 / shared, np.inf)
    low, high = np.quantile(counts[1:], [0.025, 0.975], method="inverted_cdf")
    if np.isfinite(counts[0]) and np.isfinite(high):
        return estimate(limits), estimate(counts), ""
    known = f"; saturation takes more than {low:.0f} ranks" if np.isfinite(low) else ""
    return None, None, f"no saturation within reach{known}"
