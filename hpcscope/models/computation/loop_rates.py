"""The spread of the rates of the Livermore loops: slowest, fastest, their ratio, and the harmonic mean.

The ratio of the fastest to the slowest is the speciality ratio (Melas 2000, section 5.4; Hockney 1996). The
harmonic mean is the rate of a program with equally many operations in each loop (McMahon 1986, UCRL-53745).
"""

from collections.abc import Iterable
from statistics import harmonic_mean

import numpy as np

from hpcscope.catalog.catalog import Catalog
from hpcscope.grouping import grouped
from hpcscope.plan.case import Case
from hpcscope.samples.records import Origin
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.order_statistics import median_estimate
from hpcscope.statistics.ratio import Ratio, ratio
from hpcscope.statistics.summary import Summary, headlines
from hpcscope.strict import Strict

BENCHMARK = "node.livermore"
LOOP = "kernel"


class LoopRates(Strict):
    """The joint results of all loops of one length; rates in flop/s."""

    subject: Case
    """The cases without the loop number."""
    origin: Origin
    loops: int
    """Number of loops that have a rate."""
    harmonic_mean: Estimate
    slowest: int
    """The number of the loop."""
    slowest_rate: Estimate
    fastest: int
    fastest_rate: Estimate
    ratio: Ratio
    """The fastest rate over the slowest."""


def loop_rates(summaries: Iterable[Summary], catalog: Catalog) -> list[LoopRates]:
    """Return the spread for each length and number of ranks at which two or more loops have a rate."""
    loops = [s for s in headlines(summaries) if (s.benchmark, s.unit) == (BENCHMARK, "flop/s") and s.median]
    groups = grouped(loops, lambda case: (case.without(catalog, LOOP).key, case.origin))
    return [_spread(cases, catalog) for cases in groups.values() if len(cases) > 1]


def _spread(cases: list[Summary], catalog: Catalog) -> LoopRates:
    ordered = sorted(cases, key=lambda case: case.median or 0.0)
    slowest, fastest = ordered[0], ordered[-1]
    return LoopRates(
        subject=slowest.case.without(catalog, LOOP),
        origin=slowest.origin,
        loops=len(cases),
        harmonic_mean=_harmonic_mean(cases),
        slowest=int(slowest.parameters[LOOP]),
        slowest_rate=slowest.estimate,
        fastest=int(fastest.parameters[LOOP]),
        fastest_rate=fastest.estimate,
        ratio=ratio(fastest.per_launch, slowest.per_launch),
    )


def _harmonic_mean(cases: list[Summary]) -> Estimate:
    """Return the median over the launches that measured all loops; without such launches, from the medians."""
    rates = [case.per_launch.launches for case in cases]
    shared = set(rates[0]).intersection(*rates[1:])
    if not shared:
        return Estimate(value=harmonic_mean([case.median or 0.0 for case in cases]))
    return median_estimate(
        np.array([harmonic_mean([launches[launch] for launches in rates]) for launch in sorted(shared)])
    )
