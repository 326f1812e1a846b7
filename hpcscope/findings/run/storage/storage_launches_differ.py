"""A launch takes far longer than another for the same work: its files are on a slow server, or others use it."""

from dataclasses import dataclass

import numpy as np

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.storage.file_cases import rates, where
from hpcscope.samples.samples import CaseSamples
from hpcscope.statistics.summary import Summary

FACTOR = 3.0
"""Least ratio of the slow launch's fastest repetition to the fast launch's slowest repetition."""
FEWEST_LAUNCHES = 3


@dataclass(frozen=True)
class UnevenLaunches:
    """A case whose launches differ by more than their repetitions do."""

    summary: Summary
    medians_s: list[float]
    """Time of the slowest rank in each launch: the median over the repetitions."""
    factor: float
    """Least factor by which any repetition of the slowest launch exceeds any repetition of the fastest launch."""


def find(run: Run) -> list[Finding]:
    """Find the case whose launches differ most, unless changes of the machine's speed explain it."""
    cases = run.raw_samples.by_case()
    launches = [
        uneven
        for case in rates(run)
        if not case.state_mixture and (uneven := _uneven(case, cases.get(case.samples_key, []))) is not None
    ]
    return [_finding(run, max(launches, key=lambda uneven_launches: uneven_launches.factor))] if launches else []


def _uneven(case: Summary, launches: list[CaseSamples]) -> UnevenLaunches | None:
    rows = [times for launch in launches if launch.ok for times in launch.times if times.counted.any()]
    slowest_rank = [times.elapsed_s[:, times.counted].max(axis=0) for times in rows]
    if len(slowest_rank) < max(FEWEST_LAUNCHES, len(launches)):
        return None
    factor = max(times.min() for times in slowest_rank) / min(times.max() for times in slowest_rank)
    if factor < FACTOR:
        return None
    return UnevenLaunches(case, [float(np.median(times)) for times in slowest_rank], float(factor))


def _finding(run: Run, uneven: UnevenLaunches) -> Finding:
    case, fastest, slowest = uneven.summary, min(uneven.medians_s), max(uneven.medians_s)
    return Finding(
        code="storage-launches-differ",
        severity="warning",
        title=(
            f"{case.label}: {units.quantity(slowest, 's')} in the slowest launch, {units.quantity(fastest, 's')} "
            "in the fastest"
        ),
        where=where(case),
        evidence=[
            *run.evidence(case),
            *(
                Evidence(what=f"median of launch {number}", value=time_s, unit="s")
                for number, time_s in enumerate(uneven.medians_s, 1)
            ),
        ],
        advice=(
            "All files of a launch may be on one slow server: compare the servers, and find the one with the "
            "files. If the servers are equally fast, other users load the file system: measure more launches."
        ),
        lost=1 - 1 / uneven.factor,
    )
