"""R_max, N_max, N_1/2 and R_peak of LINPACK, and its fraction of the DGEMM rate on all cores.

R_max is the best rate over all sizes and settings on one number of ranks, N_max its size, and N_1/2 the size at
which half of it is reached: the values of the TOP500 list (Dongarra, Luszczek and Petitet 2003, Concurrency and
Computation 15, section 3).
"""

from itertools import pairwise

import numpy as np

from hpcscope.grouping import grouped
from hpcscope.machine.machine import Host, Machine
from hpcscope.models.fitting.draws import draw
from hpcscope.models.measurements import Measurements
from hpcscope.plan.case import Case
from hpcscope.samples.records import Origin
from hpcscope.samples.samples import Floats
from hpcscope.statistics.bootstrap import estimate
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.figures import LAUNCHES_FOR_INTERVAL
from hpcscope.statistics.ratio import ratio
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict

BENCHMARK = "algorithm.linpack"
PRODUCT = "node.matrix_multiply"
SEED = 13
FUSED = {"fma", "avx512f", "asimd"}
"""With any of these flags, an addition and a multiplication are one instruction."""
DOUBLES = {"avx512f": 8, "avx2": 4, "avx": 4, "sse2": 2, "asimd": 2}
"""Doubles in a vector, by flag, widest first."""


class LinpackRates(Strict):
    """The joint results of LINPACK runs on one number of ranks; rates in flop/s."""

    case: Case
    """Case that has R_max."""
    origin: Origin
    rate: Estimate
    """R_max."""
    time_s: float | None
    """Time of this case; None if another program did not print it with enough digits."""
    residual: float | None
    """The largest scaled residual of its repetitions."""
    n_half: Estimate | None
    n_half_reason: str
    """Why there is no N_1/2; empty if there is one."""
    product: Case | None
    """Matrix products on the same number of ranks; None if they were not measured."""
    product_rate: Estimate | None
    efficiency: Estimate | None
    """R_max over the rate of matrix products."""
    theoretical_flops_per_s: float | None
    """R_peak: cores, nominal clock and operations per cycle; None if one of them is not known."""
    theoretical_basis: str
    """Assumptions behind R_peak, or why it is unknown."""
    theoretical_share: float | None
    """R_max over R_peak."""

    @property
    def n_max(self) -> int:
        """The order of the system that reaches R_max."""
        return int(self.case.parameters["n"])


def linpack_rates(measurements: Measurements) -> LinpackRates | None:
    """Return the results on the most ranks over their best transport; None if LINPACK did not run."""
    rates = measurements.of(BENCHMARK, "flops_per_s")
    if not rates:
        return None
    most = max(case.ranks for case in rates)
    best = max((case for case in rates if case.ranks == most), key=lambda summary: summary.median or 0.0)
    alike = [
        case for case in rates if (case.ranks, case.transport, case.origin) == (most, best.transport, best.origin)
    ]
    n_half, reason = _n_half(best, alike)
    residuals = [s for s in measurements.of(BENCHMARK, "residual") if s.samples_key == best.samples_key]
    times = [s for s in measurements.of(BENCHMARK, "time_s") if s.samples_key == best.samples_key]
    products = [s for s in measurements.of(PRODUCT, "flops_per_s", {"precision": "double"}) if s.ranks == most]
    product = max(products, key=measurements.size, default=None)
    peak, basis = theoretical(measurements.machine)
    return LinpackRates(
        case=best.case,
        origin=best.origin,
        rate=best.estimate,
        time_s=times[0].estimate.value if times else None,
        residual=residuals[0].maximum if residuals else None,
        n_half=n_half,
        n_half_reason=reason,
        product=product.case if product is not None else None,
        product_rate=product.estimate if product is not None else None,
        efficiency=ratio(best.per_launch, product.per_launch) if product is not None else None,
        theoretical_flops_per_s=peak,
        theoretical_basis=basis,
        theoretical_share=best.estimate.value / peak if peak else None,
    )


def theoretical(machine: Machine) -> tuple[float | None, str]:
    """Return cores x clock x operations per cycle in flop/s, and the basis; None and the reason if unknown.

    Two instructions per cycle are assumed, on the widest vectors that the processor lists, with fused
    multiply-adds if it has them: most processors do this, but no system reports it.
    """
    if not machine.hosts:
        return None, "the machine is not known"
    total, words = 0.0, []
    for host in machine.hosts:
        processor = host.processor
        vector = next((flag for flag in DOUBLES if flag in processor.flags), None)
        if not processor.base_frequency_hz:
            return None, f"the clock of {host.name} is not known"
        if vector is None or processor.architecture not in ("x86_64", "aarch64"):
            return None, f"the vectors of {processor.architecture} are not known"
        per_cycle = DOUBLES[vector] * (4 if FUSED & set(processor.flags) else 2)
        total += used_cores(host) * processor.base_frequency_hz * per_cycle
        words.append(f"{per_cycle} operations per cycle with {vector}")
    return total, f"{', '.join(dict.fromkeys(words))}, nominal clock"


def used_cores(host: Host) -> int:
    """Return the cores that a run may use."""
    processor = host.processor
    return processor.usable_cores if processor.usable else processor.cores


def _n_half(best: Summary, rates: list[Summary]) -> tuple[Estimate | None, str]:
    """Interpolate the best rate of each size between the last size below half of R_max and the next size.

    Fewer than six launches give no interval.
    """
    by_size = grouped(rates, lambda case: int(case.parameters["n"]))
    sizes = sorted(n for n in by_size if n <= int(best.parameters["n"]))
    fastest = {n: max(by_size[n], key=lambda case: case.median or 0.0) for n in sizes}
    half = (best.median or 0.0) / 2
    below = [pair for pair in pairwise(sizes) if (fastest[pair[0]].median or 0.0) < half]
    if not below:
        return None, f"at n={sizes[0]}, the smallest that was run, the rate already exceeds half of R_max"
    low, high = below[-1]
    ends = best, fastest[low], fastest[high]
    if min(len(case.launch_medians) for case in ends) < LAUNCHES_FOR_INTERVAL:
        wanted, first, second = (np.array([case.median or 0.0]) for case in ends)
        return Estimate(value=float(_between(low, high, first, second, wanted / 2)[0])), ""
    random = np.random.default_rng(SEED)
    drawn = {id(case): draw(case, random) for case in ends}
    first, second = drawn[id(fastest[low])], drawn[id(fastest[high])]
    return estimate(_between(low, high, first, second, drawn[id(best)] / 2)), ""


def _between(low: int, high: int, first: Floats, second: Floats, wanted: Floats) -> Floats:
    """Return the size with the wanted rate, which is linear in log n between two sizes; else the nearer end."""
    rise = np.where(second > first, second - first, np.nan)
    share = np.clip(np.nan_to_num((wanted - first) / rise, nan=0.5), 0.0, 1.0)
    return np.asarray(low * (high / low) ** share, dtype=np.float64)
