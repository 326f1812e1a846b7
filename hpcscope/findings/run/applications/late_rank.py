"""One rank arrives late in every iteration, and all others wait for it."""

import numpy as np

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.worst_rank import host_of
from hpcscope.plan.case import Case
from hpcscope.samples.samples import CaseSamples, Floats

FEWEST_ITERATIONS = 10
"""The last rank of a single exchange says nothing about the next."""
FEWEST_RANKS = 3
"""Fewest ranks: of two ranks, one is always last."""
LATE = 0.8
"""Least fraction of exchanges at which a late rank arrives last; among equal ranks, chance decides who is last."""
WAITED = 0.05
"""Least fraction of the time that the others wait."""


def find(run: Run) -> list[Finding]:
    """Find ranks that arrive last at most exchanges of every launch while the others wait; each rank's worst case.

    Only iterative programs count: in the first step, the rank that gets its part last arrives last.
    """
    worst: dict[tuple[str, int], tuple[float, float, CaseSamples]] = {}
    for launches in run.raw_samples.by_case().values():
        first = launches[0]
        if not run.computes_undisturbed(first.case) or not _iterates(first.case):
            continue
        seen = [found for case in launches if case.ok and (found := _late(case)) is not None]
        ranks = {rank for rank, _, _ in seen}
        if len(ranks) != 1 or len(seen) != len(launches):
            continue
        rank = ranks.pop()
        share, waited = (float(np.median([values[i] for values in seen])) for i in (1, 2))
        known = worst.get((first.case.benchmark, rank))
        if known is None or waited > known[1]:
            worst[first.case.benchmark, rank] = (share, waited, first)
    return [_finding(run, rank, *each) for (_, rank), each in worst.items()]


def _iterates(case: Case) -> bool:
    return int(case.parameters.get("iterations", 0)) >= FEWEST_ITERATIONS and case.ranks >= FEWEST_RANKS


def _late(samples: CaseSamples) -> tuple[int, float, float] | None:
    """Return the late rank of a launch, its fraction of exchanges, and the fraction of time that others wait."""
    for times in samples.times:
        last, idle = times.observed.get("last_arrival_share"), times.observed.get("idle_s")
        if last is None or idle is None or not times.counted.any():
            continue
        shares: Floats = np.median(last[:, times.counted], axis=1)
        row = int(np.argmax(shares))
        others = np.delete(idle[:, times.counted], row, axis=0)
        waited = float(np.median(others / times.elapsed_s[:, times.counted].max(axis=0)))
        if shares[row] >= LATE and waited >= WAITED:
            return int(times.ranks_kept[row]), float(shares[row]), waited
    return None


def _finding(run: Run, rank: int, share: float, waited: float, samples: CaseSamples) -> Finding:
    case = samples.case
    host = host_of(run, samples, rank)
    return Finding(
        code="late-rank",
        severity="warning",
        title=(
            f"Rank {rank}{f' on {host}' if host else ''} arrives last in {units.share(share)} of the exchanges of "
            f"{case.label}; the other ranks wait for it during {units.share(waited)} of the time"
        ),
        where={
            "benchmark": case.benchmark,
            "rank": rank,
            "ranks": case.ranks,
            "layer": run.benchmark(case).level,
            **({"host": host} if host else {}),
        },
        evidence=[
            Evidence(what=f"exchanges in which rank {rank} arrived last", value=units.share(share)),
            Evidence(what="fraction of the time during which the other ranks wait", value=units.share(waited)),
        ],
        advice=(
            "This rank has more work or a slower processor: compare the phases by rank. If this rank computes "
            "longer than other ranks, another process uses its core, or the host is slow. If it does not compute "
            "longer, its part of the problem is larger or has more neighbors."
        ),
        lost=waited,
    )
