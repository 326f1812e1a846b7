"""The clock is not fit for the times that were measured."""

from __future__ import annotations

import numpy as np

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context, label
from scope.samples.records import Clock

LARGEST_SHARE = 0.05
"""Of a repetition that may be the clock's resolution or overhead."""


def find(context: Context) -> list[Finding]:
    """Find clocks that go backwards, are no register timers, or are coarse beside what they timed."""
    clocks = [launch.clock for launch in context.samples.launches]
    found = []
    if backwards := [clock for clock in clocks if not clock.monotonic]:
        found.append(_backwards(backwards, len(clocks)))
    if fallbacks := [clock for clock in clocks if clock.fallback_reason]:
        found.append(_fallback(fallbacks[0]))
    coarse = _coarse_cases(context)
    if coarse:
        found.append(_coarse(coarse))
    return found


def _coarse_cases(context: Context) -> list[tuple[float, str, Clock]]:
    """Return (share, case, clock) of the cases whose typical repetition the clock can hardly resolve."""
    clocks = {(launch.launch, launch.attempt): launch.clock for launch in context.samples.launches}
    worst: dict[tuple[object, ...], tuple[float, str, Clock]] = {}
    for case in context.samples.cases:
        clock = clocks.get((case.launch, case.attempt))
        if clock is None or not case.ok or case.benchmark == "node.timer":
            continue
        for times in case.times:
            elapsed = times.elapsed_s[:, times.counted]
            if elapsed.size:
                typical = max(float(np.median(elapsed.max(axis=0))), 1e-12)
                share = max(clock.resolution_s, clock.overhead_s) / typical
                if share > LARGEST_SHARE and share > worst.get(case.identity, (0.0,))[0]:
                    name = f"{label(case)}: {units.quantity(typical, 's')}, {times.cadence}"
                    worst[case.identity] = (share, name, clock)
    return sorted(worst.values(), key=lambda entry: -entry[0])


def _backwards(clocks: list[Clock], launches: int) -> Finding:
    return Finding(
        code="timer-not-monotonic",
        severity="error",
        title=f"The clock {clocks[0].source} went backwards in {len(clocks)} of {launches} launches",
        where={"layer": "node"},
        evidence=[Evidence(what="clock", value=clocks[0].source)],
        advice="No time of these launches can be trusted. Check `/sys/devices/system/clocksource/clocksource0/"
        "current_clocksource` and the host's firmware.",
    )


def _fallback(clock: Clock) -> Finding:
    return Finding(
        code="timer-fallback",
        severity="information",
        title=f"No register timer could be used: {clock.fallback_reason}",
        where={"layer": "node"},
        evidence=[
            Evidence(what="clock", value=clock.source),
            Evidence(what="cost of a start/stop pair", value=clock.overhead_s, unit="s"),
        ],
        advice="Times are right but dearer to take; node.timer says by how much.",
    )


def _coarse(cases: list[tuple[float, str, Clock]]) -> Finding:
    share, _, clock = cases[0]
    return Finding(
        code="timer-coarse",
        severity="warning",
        title=f"The clock's own cost or step is up to {units.share(share)} of a repetition in {len(cases)} cases",
        where={"layer": "node"},
        evidence=[
            Evidence(what="resolution of the clock", value=clock.resolution_s, unit="s"),
            Evidence(what="cost of a start/stop pair (subtracted)", value=clock.overhead_s, unit="s"),
            *(Evidence(what=f"share of one repetition of {name}", value=share) for share, name, _ in cases[:5]),
        ],
        advice="Trust the looped definitions (streaming) of these cases more than single operations.",
    )
