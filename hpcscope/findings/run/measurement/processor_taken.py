"""Something else used the processors of the ranks: another process, or the hypervisor."""

from collections.abc import Callable
from dataclasses import dataclass

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.measurement import machine_states
from hpcscope.models.measurements import shared_processors
from hpcscope.samples.records import Disturbances
from hpcscope.samples.samples import CaseSamples

WAITED = 0.1
"""Least fraction of a visit that a rank waited for its processor; daemons and Scope's supervisor cause less."""
SHORTEST_WAIT_S = 2e-3
"""Shortest wait that counts: a competitor's time slice lasts milliseconds."""
STOLEN = 0.05
"""Least fraction of the host's CPU time that a hypervisor withheld."""
SMALLEST_STOLEN_S = 0.02
"""Smallest steal time that counts: the kernel counts it in ticks of 10 ms."""
TOLERATED = 0.2
"""Fraction of the visits that may be disturbed: Scope's own supervisor runs at times, too."""
TOLERATED_IN_A_STATE = 0.05
"""Tolerated fraction if the disturbed visits explain a slow state of the machine."""
MOSTLY = 3.0
"""Disturbances explain a slow state if they are more than this many times as frequent in it."""
OUTSIDE = 0.1
"""Least fraction of the processors' time during a launch that programs outside a lab used."""
ADVICE = "End other processes on the machine (`top` shows them), or leave a processor free for them."


@dataclass(frozen=True)
class Taker:
    """Who takes processors, and how a visit shows that."""

    code: str
    title: str
    what: str
    """What the evidence counts, in words."""
    lost_s: Callable[[Disturbances], float | None]
    least: Callable[[float, int], float]
    """Smallest CPU-time loss in seconds that counts, for this duration of a visit and this many processors."""
    advice: str


TAKERS = [
    Taker(
        "processor-taken",
        "Another process took a processor from the ranks",
        "waiting for a processor",
        lambda seen: seen.waited_s,
        lambda seconds, _: max(SHORTEST_WAIT_S, WAITED * seconds),
        ADVICE,
    ),
    Taker(
        "processor-withheld",
        "The hypervisor withheld processors from this machine",
        "steal time",
        lambda seen: seen.steal_s,
        lambda seconds, processors: max(SMALLEST_STOLEN_S, STOLEN * seconds * processors),
        "Other virtual machines compete for the host: measure on a dedicated host, or at another time.",
    ),
]


def find(run: Run) -> list[Finding]:
    """Find who took processors in more than a fifth of the visits, or in a slow state of the machine.

    Cases with more ranks than processors are left out. In a lab, ranks also wait for the program that carries the
    frames: there, the CPU time of programs outside the lab counts.
    """
    cases = [
        samples for samples in run.raw_samples.cases if samples.ok and not run.shares_processors(samples.case)
    ]
    seen = [case for case in cases if case.disturbances is not None]
    others, withheld = TAKERS
    taken = _outside(run) if run.machine.lab else _taken(run, seen, others)
    return [*taken, *_taken(run, seen, withheld)]


def _outside(run: Run) -> Found:
    """Find programs outside the lab that used a tenth of its processors in more than a fifth of the launches."""
    processors = shared_processors(run.machine) or 1
    used = {
        end.launch: end.outside_s / (end.duration_s * processors)
        for end in run.raw_samples.ends
        if end.outside_s is not None and end.duration_s > 0
    }
    taken = {launch: share for launch, share in used.items() if share >= OUTSIDE}
    if len(taken) <= TOLERATED * len(used):
        return
    yield Finding(
        code="processor-taken",
        about="measurement",
        severity="warning",
        title=f"Programs outside the lab used up to {units.share(max(taken.values()))} of the CPU time, in "
        f"{len(taken)} of {len(used)} launches",
        where={"launches": len(taken)},
        evidence=[
            Evidence(what=f"CPU time of other programs during launch {launch}", value=units.share(share))
            for launch, share in sorted(taken.items(), key=lambda each: -each[1])[:5]
        ],
        advice=ADVICE,
    )


def _taken(run: Run, seen: list[CaseSamples], taker: Taker) -> Found:
    processors = max((host.processor.threads for host in run.machine.hosts), default=1)
    lost = [
        seconds
        if visit.disturbances
        and (seconds := taker.lost_s(visit.disturbances) or 0.0) >= taker.least(visit.duration_s, processors)
        else 0.0
        for visit in seen
    ]
    taken = [(case, seconds) for case, seconds in zip(seen, lost, strict=True) if seconds]
    explains = _explains_a_state(run, seen, lost)
    if len(taken) <= (TOLERATED_IN_A_STATE if explains else TOLERATED) * len(seen):
        return
    worst: dict[str, float] = {}
    for samples, seconds in sorted(taken, key=lambda each: -each[1]):
        worst.setdefault(samples.case.label, seconds)
    launches = {case.launch for case, _ in taken}
    yield Finding(
        code=taker.code,
        about="measurement",
        cause=machine_states.CAUSE if explains else "",
        severity="warning",
        title=f"{taker.title} in {units.share(len(taken) / len(seen))} of the measurements, in "
        f"{len(launches)} of {len({case.launch for case in seen})} launches",
        where={"cases": len(worst), "launches": len(launches)},
        evidence=[
            Evidence(what=f"{taker.what} during a measurement of {label}", value=seconds, unit="s")
            for label, seconds in list(worst.items())[:5]
        ],
        advice=taker.advice,
    )


def _explains_a_state(run: Run, seen: list[CaseSamples], lost: list[float]) -> bool:
    """Return whether visits in the slow state are disturbed much more often than visits in the fast state."""
    if len(run.course.states) < 2:
        return False
    states = [run.course.state_during(visit) for visit in seen]
    fast, slow = (
        [seconds > 0 for seconds, state in zip(lost, states, strict=True) if state == wanted] for wanted in (0, 1)
    )
    return bool(fast and slow) and sum(slow) / len(slow) > MOSTLY * sum(fast) / len(fast)
