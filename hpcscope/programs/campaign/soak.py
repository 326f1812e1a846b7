"""The results of a soak: errors, wrong results, drift, and memory growth."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from hpcscope.programs.campaign.configurations import Spread, numbers, spread, well
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.campaign.trend import Trend, trend
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.order_statistics import median_estimate
from hpcscope.strict import Strict


class Growth(Strict):
    """Growth of the ranks' memory within the second half of a run."""

    runs: int
    bytes_per_s: Estimate
    """Median over the runs of the mean over the ranks; with an interval if there are six or more runs."""
    worst_rank: int
    """The rank that most often grew most."""
    worst_bytes_per_s: Estimate
    resident_bytes: float
    """Median over the runs of the peak memory of a rank."""
    run_s: float
    """Median duration of a run."""

    @property
    def certain(self) -> bool:
        """Whether the interval excludes steady or shrinking memory."""
        return self.bytes_per_s.low is not None and self.bytes_per_s.low > 0


class Endurance(Strict):
    """The results of a soak."""

    runs: int
    well: int
    failed: int
    """Runs that ended with an error."""
    wrong: int
    """Runs whose output the check rejected."""
    timeouts: int
    failure_share: Estimate
    """Fraction of failed, wrong and timed-out runs with its exact 95 % interval (Clopper & Pearson 1934)."""
    span_s: float
    """Time from the start of the first run to the end of the last."""
    elapsed_s: Spread | None
    drift: Trend | None
    """Trend of the run time; None if there are too few runs."""
    memory: Trend | None
    """Trend of the peak memory from run to run."""
    growth: Growth | None
    """Memory growth within runs; None without a long enough time series."""
    reasons: dict[str, int]
    """Why runs failed, and how often."""


def endurance(records: Sequence[RunRecord]) -> Endurance:
    """Return the results of one or more runs."""
    good = well(records)
    counts = Counter(record.status for record in records)
    bad = [record for record in records if record.status != "ok"]
    begin_s = np.array([record.started_unix_s for record in good])
    peaks = numbers(good, "peak_resident_bytes")
    seconds = numbers(good, "wall_s")
    known = seconds.size == len(good) > 0
    drift = trend("time of a run", "s", begin_s, seconds if known else numbers(good, "elapsed_s"))
    memory = trend("largest memory of a rank", "B", begin_s, peaks) if peaks.size == len(good) else None
    return Endurance(
        runs=len(records),
        well=len(good),
        failed=counts["failed"],
        wrong=counts["wrong"],
        timeouts=counts["timeout"],
        failure_share=exact_share(len(bad), len(records)),
        span_s=max(r.started_unix_s + r.elapsed_s for r in records) - min(r.started_unix_s for r in records),
        elapsed_s=spread(numbers(good, "elapsed_s")) if good else None,
        drift=drift,
        memory=memory,
        growth=_growth(good),
        reasons=dict(Counter(record.reason for record in bad).most_common()),
    )


def exact_share(count: int, of: int) -> Estimate:
    """Return a fraction with its exact 95 % interval: 0 of 1000 gives 0 to 0.37 %."""
    from scipy.stats import binomtest  # takes a second to load

    interval = binomtest(count, of).proportion_ci(method="exact")
    return Estimate(value=count / of, low=float(interval.low), high=float(interval.high))


def _growth(good: Sequence[RunRecord]) -> Growth | None:
    slopes = numbers(good, "memory_slope_bytes_per_s")
    if not slopes.size:
        return None
    ranks = numbers(good, "memory_slope_worst_rank").astype(np.int64)
    return Growth(
        runs=int(slopes.size),
        bytes_per_s=median_estimate(slopes),
        worst_rank=int(np.bincount(ranks).argmax()),
        worst_bytes_per_s=median_estimate(numbers(good, "memory_slope_worst_bytes_per_s")),
        resident_bytes=float(np.median(numbers(good, "peak_resident_bytes"))),
        run_s=float(np.median(numbers(good, "wall_s"))),
    )
