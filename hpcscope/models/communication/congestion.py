"""The impact factor of other ranks' load on an exchange, at the median and in the tail.

After Chunduri et al. 2019, GPCNeT (SC19).
"""

import numpy as np

from hpcscope.catalog.catalog import Catalog
from hpcscope.grouping import grouped
from hpcscope.plan.case import Case
from hpcscope.samples.records import Origin
from hpcscope.samples.samples import CaseSamples, Floats, Samples, Times
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.order_statistics import median_estimate
from hpcscope.strict import Strict

IMPACT, ALONE = "impact_factor", "isolated_s"
"""Metrics that mark a benchmark as one that measures an exchange with a load and without it."""
TAIL = 0.99
FEWEST = 100
"""Fewest repetitions of a launch that have a meaningful 99th percentile."""


class Congestion(Strict):
    """An exchange with and without a load, measured alternately."""

    case: Case
    origin: Origin
    launches: int
    repetitions: int
    median: Estimate
    """Time with the load over time without it: the median over the launches of each launch's median ratio."""
    tail: Estimate | None
    """The same ratio for the 99th percentiles of both times; None if there are few repetitions."""


def congestion(samples: Samples, catalog: Catalog) -> list[Congestion]:
    """Return the impact of each load on each exchange that was measured, in the order of the samples."""
    declared = {benchmark.name for benchmark in catalog if {IMPACT, ALONE} <= set(benchmark.metric)}
    visits = (visit for visit in samples.cases if visit.case.benchmark in declared and visit.ok)
    cases = grouped(visits, lambda visit: visit.key)
    return [congestion for launches in cases.values() if (congestion := _of(launches)) is not None]


def _of(launches: list[CaseSamples]) -> Congestion | None:
    pairs = [times for case in launches for series in case.times if (times := _both(series)) is not None]
    pairs = [(beside, alone) for beside, alone in pairs if beside.size]
    if not pairs:
        return None
    whole = [(beside, alone) for beside, alone in pairs if beside.size >= FEWEST]
    tails = [float(np.quantile(beside, TAIL) / np.quantile(alone, TAIL)) for beside, alone in whole]
    return Congestion(
        case=launches[0].case,
        origin=launches[0].origin,
        launches=len(pairs),
        repetitions=sum(beside.size for beside, _ in pairs),
        median=median_estimate(np.array([float(np.median(beside / alone)) for beside, alone in pairs])),
        tail=median_estimate(np.array(tails)) if tails else None,
    )


def _both(series: Times) -> tuple[Floats, Floats] | None:
    """Return the times with and without the load, of the slowest rank in each repetition."""
    alone = series.largest_observed(ALONE)
    if alone is None or series.cadence != "isolated":
        return None
    slowest: Floats = series.extremes.maximum_s if series.extremes else series.elapsed_s.max(axis=0)
    counted = series.counted & (alone > 0)
    return slowest[counted], alone[counted]
