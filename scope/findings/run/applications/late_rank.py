"""One rank is late in every iteration, and all others wait for it."""

from __future__ import annotations

import numpy as np

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context, label
from scope.findings.run.measurement.oversubscription import crowded
from scope.samples.samples import CaseSamples, Floats

FEWEST_ITERATIONS = 10
"""What comes last in a single exchange says nothing of the next."""
FEWEST_RANKS = 3
"""Of two, one is always last."""
LATE = 0.8
"""Share of the exchanges to which it came last of all; with equals it is a matter of chance."""
WAITED = 0.05
"""Share of the time that the others wait."""


def find(context: Context) -> list[Finding]:
    """Find the ranks that come last to most exchanges of every launch while the others wait; their worst case.

    Only algorithms that iterate are looked at: the process that gets its part last is rightly last in the first
    step.
    """
    crowds = crowded(context)
    worst: dict[tuple[str, int], tuple[float, float, CaseSamples]] = {}
    for launches in context.samples.by_case().values():
        first = launches[0]
        if (first.ranks, first.transport, first.placement) in crowds or not _iterates(first):
            continue
        seen = [found for case in launches if case.ok and (found := _late(case)) is not None]
        ranks = {rank for rank, _, _ in seen}
        if len(ranks) != 1 or len(seen) != len(launches):
            continue
        rank = ranks.pop()
        share, waited = (float(np.median([each[i] for each in seen])) for i in (1, 2))
        known = worst.get((first.benchmark, rank))
        if known is None or waited > known[1]:
            worst[first.benchmark, rank] = (share, waited, first)
    return [_finding(context, rank, *each) for (_, rank), each in worst.items()]


def _iterates(case: CaseSamples) -> bool:
    return int(case.parameters.get("iterations", 0)) >= FEWEST_ITERATIONS and case.ranks >= FEWEST_RANKS


def _late(case: CaseSamples) -> tuple[int, float, float] | None:
    """Return the rank that is late in a launch, its share of exchanges, and the share of the time others wait."""
    for times in case.times:
        last, idle = times.observed.get("last_share"), times.observed.get("idle_s")
        if last is None or idle is None or not times.counted.any():
            continue
        shares: Floats = np.median(last[:, times.counted], axis=1)
        row = int(np.argmax(shares))
        others = np.delete(idle[:, times.counted], row, axis=0)
        waited = float(np.median(others / times.elapsed_s[:, times.counted].max(axis=0)))
        if shares[row] >= LATE and waited >= WAITED:
            return int(times.ranks_kept[row]), float(shares[row]), waited
    return None


def _finding(context: Context, rank: int, share: float, waited: float, case: CaseSamples) -> Finding:
    host = _host(context, case, rank)
    return Finding(
        code="late-rank",
        severity="warning",
        title=(
            f"Rank {rank}{f' on {host}' if host else ''} comes last to {units.share(share)} of the exchanges of "
            f"{case.benchmark}; the others wait {units.share(waited)} of the time for it"
        ),
        where={
            "benchmark": case.benchmark,
            "rank": rank,
            "ranks": case.ranks,
            "layer": "algorithm",
            **({"host": host} if host else {}),
        },
        evidence=[
            Evidence(what=f"exchanges of {label(case)} to which rank {rank} came last", value=units.share(share)),
            Evidence(what="share of the time that the others wait", value=units.share(waited)),
        ],
        advice=(
            "It has more to do or a slower processor: look at the phases by rank. If its computation takes longer "
            "than that of its equals, something else runs on its processor, or the host is slow; if not, its part "
            "of the problem is larger or has more neighbours."
        ),
        lost=waited,
    )


def _host(context: Context, case: CaseSamples, rank: int) -> str:
    for launch in context.samples.launches:
        if (launch.launch, launch.attempt) == (case.launch, case.attempt):
            return next((process.host for process in launch.processes if process.rank == rank), "")
    return ""
