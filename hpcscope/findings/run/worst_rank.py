"""The rank, and its host, with most of a quantity that every rank observed."""

from collections import Counter

import numpy as np

from hpcscope.findings.results import Run
from hpcscope.samples.samples import CaseSamples
from hpcscope.statistics.summary import Summary

MOSTLY = 0.5
"""Share of the visits above which a rank has most; else it is another one each time."""


def worst_rank(run: Run, case: Summary) -> dict[str, str | int | float]:
    """Return rank and host with most of an observed metric in most visits to a case; empty where it changes."""
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
    """Return the host of a rank in the launch of a visit; empty where it is not known."""
    for launch in run.raw_samples.launches:
        if (launch.launch, launch.attempt) == (visit.launch, visit.attempt):
            return next((process.host for process in launch.processes if process.rank == rank), "")
    return ""
