"""The clock is not suitable for the measured times."""

import numpy as np

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.samples.records import Clock
from hpcscope.samples.samples import SamplesKey

TIMER = "node.timer"
"""The benchmark that times the clock itself."""
LARGEST_SHARE = 0.05
"""Fraction of a repetition that may be due to the resolution or overhead of the clock."""


def find(run: Run) -> Found:
    """Find clocks that go backwards, are not register timers, or are too coarse for the times."""
    clocks = [launch.clock for launch in run.raw_samples.launches]
    if backwards := [clock for clock in clocks if not clock.monotonic]:
        yield _backwards(backwards, len(clocks))
    if fallbacks := [clock for clock in clocks if clock.fallback_reason]:
        yield _fallback(fallbacks[0])
    coarse = _coarse_cases(run)
    if coarse:
        yield _coarse(coarse)


def _coarse_cases(run: Run) -> list[tuple[float, str, Clock]]:
    """Return (share, case, clock) of the cases whose typical repetition the clock can hardly resolve."""
    clocks = {(launch.launch, launch.attempt): launch.clock for launch in run.raw_samples.launches}
    worst: dict[SamplesKey, tuple[float, str, Clock]] = {}
    for samples in run.raw_samples.cases:
        clock = clocks.get((samples.launch, samples.attempt))
        if clock is None or not samples.ok or samples.case.benchmark == TIMER:
            continue
        for times in samples.times:
            elapsed = times.elapsed_s[:, times.counted]
            if elapsed.size:
                typical = max(float(np.median(elapsed.max(axis=0))), 1e-12)
                share = max(clock.resolution_s, clock.overhead_s) / typical
                if share > LARGEST_SHARE and (samples.key not in worst or share > worst[samples.key][0]):
                    name = f"{samples.case.label}: {units.quantity(typical, 's')}, {times.cadence}"
                    worst[samples.key] = (share, name, clock)
    return sorted(worst.values(), key=lambda entry: -entry[0])


def _other_cadences(cases: list[tuple[float, str, Clock]]) -> str:
    isolated = sum("isolated" in name for _, name, _ in cases)
    if isolated < len(cases):
        return "Measure larger sizes, which take longer than a step of the clock."
    return "If these cases have streaming times, use them: a streaming time covers many operations."


def _backwards(clocks: list[Clock], launches: int) -> Finding:
    return Finding(
        code="timer-not-monotonic",
        about="measurement",
        severity="error",
        title=f"The clock {clocks[0].source} went backwards in {len(clocks)} of {launches} launches",
        where={"layer": "node"},
        evidence=[Evidence(what="clock", value=clocks[0].source)],
        advice="The times of these launches cannot be trusted. Check "
        "`/sys/devices/system/clocksource/clocksource0/current_clocksource` and the firmware of the host.",
    )


def _fallback(clock: Clock) -> Finding:
    return Finding(
        code="timer-fallback",
        about="measurement",
        severity="information",
        title=f"No register timer is available: {clock.fallback_reason}",
        where={"layer": "node"},
        evidence=[
            Evidence(what="clock", value=clock.source),
            Evidence(what="cost of a start/stop pair", value=clock.overhead_s, unit="s"),
        ],
        advice="The times are correct, but this clock costs more to read than a register; see node.timer.",
    )


def _coarse(cases: list[tuple[float, str, Clock]]) -> Finding:
    share, _, clock = cases[0]
    number = units.count(len(cases), "case")
    return Finding(
        code="timer-coarse",
        about="measurement",
        severity="warning",
        title=f"Clock resolution or overhead reaches {units.share(share)} of a repetition in {number}",
        where={"layer": "node"},
        evidence=[
            Evidence(what="resolution of the clock", value=clock.resolution_s, unit="s"),
            Evidence(what="cost of a start/stop pair (subtracted)", value=clock.overhead_s, unit="s"),
            *(Evidence(what=f"fraction of one repetition of {name}", value=share) for share, name, _ in cases[:5]),
        ],
        advice=(
            "The resolution averages out over repetitions, and the cost of clock reads is subtracted. Still, "
            f"ignore differences of less than {units.share(share)} of a repetition. {_other_cadences(cases)}"
        ),
    )
