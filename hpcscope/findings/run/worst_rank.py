"""The rank with the largest value of a quantity that every rank observed, and its host."""

from collections import Counter

import numpy as np

from hpcscope.findings.results import Run
from hpcscope.samples.samples import CaseSamples
from hpcscope.statistics.summary import Summary

MOSTLY = 0.5
"""A rank is the worst if its value is the largest in more than this fraction of the visits."""


def worst_rank(run: Run, case: Summary) -> dict[str, str | int | float]:
    """Return the rank with the largest value in most visits to a case, and its host; empty if that rank varies."""
    found: Counter[tuple[int, str]] = Counter()
    for visit in run.raw_samples.by_case().get(case.samples_key, []):
        for times in visit.times:
            seen = times.observed.get(case.metric)
            if seen is not None and times.counted.any():
                rank = int(times.ranks_kept[int(np.argmax(np.median(seen[:, times.counted], axis=1)))])
                found[rank, host_of(run, visit, rank)] += 1
    ((rank, host), visits), *_ = found.most_common(1) or [((0, ""), 0)]
    return {"rank": rank, "host": host} if visits > MOSTLY * found.total() else {}


def host_of(run: Run, visit: CaseSamples, rank: int) -> str:
    """Return the host of a rank in the launch of a visit; empty if it is not known."""
    for launch in run.raw_samples.launches:
        if (launch.launch, launch.attempt) == (visit.launch, visit.attempt):
            return next((process.host for process in launch.processes if process.rank == rank), "")
    return ""
