"""An MPI call is slower than a program could be that makes the same out of other calls.

Performance guidelines after Träff, Gropp & Thakur 2010, "Self-consistent MPI performance guidelines" (IEEE TPDS
21 (5), 698-709). A guideline is one row of `GUIDELINES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log2

import numpy as np
from scipy.stats import false_discovery_control, mannwhitneyu

from scope import units
from scope.findings.context import Context
from scope.findings.finding import Evidence, Finding
from scope.findings.oversubscription import crowded
from scope.findings.settings import setting
from scope.statistics.summary import Summary

SMALLEST_EXCESS = 0.05
FALSE_DISCOVERIES = 0.05
"""Share of wrong violations among those reported (Benjamini & Hochberg 1995)."""
FEWEST_LAUNCHES = 4
"""With four launches against four the smallest one-sided p of the rank test is 1/70; with six, 1/924."""

Pairs = Callable[[list[Summary]], Iterator[tuple[Summary, Summary, float]]]
"""Yields what must not be slower, what it is held against, and how often the latter is done."""


@dataclass(frozen=True)
class Guideline:
    """left <= times x right."""

    name: str
    left: str
    right: str
    pairs: Pairs


@dataclass(frozen=True)
class Violation:
    """One pair that breaks a guideline, perhaps by chance."""

    guideline: Guideline
    left: Summary
    right: Summary
    times: float
    p: float

    @property
    def excess(self) -> float:
        """How much longer the left side takes: 0.1 is 10 %."""
        return (self.left.median or 0.0) / (self.times * (self.right.median or 1.0)) - 1


def find(context: Context) -> list[Finding]:
    """Find violations that a rank test on launches confirms, corrected for all comparisons; one per guideline.

    Launches with more processes than processors are left out: they are about waiting. Uncertainty of the
    synchronised clock counts for the left side.
    """
    crowds = crowded(context)
    times = [
        s
        for s in context.headlines
        if s.unit == "s"
        and s.benchmark.startswith("mpi.")
        and s.definition != "observed"
        and (s.ranks, s.transport, s.placement) not in crowds
    ]
    uncertainty_s = max((launch.clock_synchronization.error_s for launch in context.samples.launches), default=0.0)
    confirmed = violations(times, uncertainty_s)
    found = []
    for guideline in GUIDELINES:
        broken = [violation for violation in confirmed if violation.guideline is guideline]
        if broken:
            found.append(_finding(context, guideline, sorted(broken, key=lambda v: -v.excess)))
    return found


def violations(times: list[Summary], uncertainty_s: float = 0.0) -> list[Violation]:
    """Return the confirmed violations of all guidelines among summaries of times."""
    tested = [
        Violation(guideline, left, right, factor, _p(left, right, factor, uncertainty_s))
        for guideline in GUIDELINES
        for left, right, factor in guideline.pairs(times)
        if min(len(left.launch_medians), len(right.launch_medians)) >= FEWEST_LAUNCHES
    ]
    if not tested:
        return []
    adjusted = false_discovery_control([violation.p for violation in tested])
    return [
        violation
        for violation, p in zip(tested, adjusted, strict=True)
        if p < FALSE_DISCOVERIES and violation.excess > SMALLEST_EXCESS
    ]


def _p(left: Summary, right: Summary, factor: float, uncertainty_s: float) -> float:
    """Return the one-sided p of the rank test (Mann-Whitney) that the left side is slower."""
    other = factor * np.array(right.launch_medians) + uncertainty_s
    return float(mannwhitneyu(left.launch_medians, other, alternative="greater").pvalue)


def _size(summary: Summary) -> int:
    return int(summary.parameters.get("message_bytes", 0))


def _of(times: list[Summary], benchmark: str, **parameters: str) -> list[Summary]:
    return [
        s
        for s in times
        if s.benchmark == benchmark
        and all(s.parameters.get(name, value) == value for name, value in parameters.items())
    ]


def _same_place(left: Summary, right: Summary) -> bool:
    return (left.transport, left.origin) == (right.transport, right.origin)


def _exchange_against_ping_pong(times: list[Summary]) -> Iterator[tuple[Summary, Summary, float]]:
    sends = _of(times, "mpi.latency", mode="standard", completion="blocking")
    for left in _of(times, "mpi.latency", mode="sendrecv"):
        yield from (
            (left, right, 1.0) for right in sends if _same_place(left, right) and _size(left) == _size(right)
        )


def _standard_against_synchronous(times: list[Summary]) -> Iterator[tuple[Summary, Summary, float]]:
    for left in _of(times, "mpi.latency", mode="standard"):
        for right in _of(times, "mpi.latency", mode="synchronous"):
            same = left.parameters.get("completion") == right.parameters.get("completion")
            if same and _same_place(left, right) and _size(left) == _size(right):
                yield left, right, 1.0


def _broadcast_against_sends(times: list[Summary]) -> Iterator[tuple[Summary, Summary, float]]:
    sends = _of(times, "mpi.latency", mode="standard", completion="blocking")
    for left in _of(times, "mpi.broadcast"):
        for right in sends:
            if left.ranks > 1 and _same_place(left, right) and _size(left) == _size(right):
                yield left, right, left.ranks - 1.0


def _barrier_against_exchanges(times: list[Summary]) -> Iterator[tuple[Summary, Summary, float]]:
    exchanges = [s for s in _of(times, "mpi.latency", mode="sendrecv") if _size(s) == 0]
    for left in _of(times, "mpi.barrier"):
        for right in exchanges:
            if left.ranks > 1 and _same_place(left, right):
                # latency_s is half of an exchange, of which each step of a dissemination needs one.
                yield left, right, 2.0 * ceil(log2(left.ranks))


def _shorter_against_longer(times: list[Summary]) -> Iterator[tuple[Summary, Summary, float]]:
    curves: dict[tuple[object, ...], list[Summary]] = {}
    for s in times:
        if "message_bytes" in s.parameters:
            rest = tuple(sorted((k, str(v)) for k, v in s.parameters.items() if k != "message_bytes"))
            curves.setdefault(
                (s.benchmark, rest, s.ranks, s.transport, s.placement, s.origin, s.metric), []
            ).append(s)
    for curve in curves.values():
        ordered = sorted(curve, key=_size)
        yield from ((short, long, 1.0) for short, long in pairwise(ordered))


GUIDELINES = [
    Guideline("sendrecv", "MPI_Sendrecv", "a send and a receive one after the other", _exchange_against_ping_pong),
    Guideline("standard send", "a standard send", "a synchronous send", _standard_against_synchronous),
    Guideline("broadcast", "MPI_Bcast", "p - 1 sends in turn", _broadcast_against_sends),
    Guideline("barrier", "MPI_Barrier", "ceil(log2 p) rounds of empty MPI_Sendrecv", _barrier_against_exchanges),
    Guideline("monotony", "a message", "the next longer one", _shorter_against_longer),
]


def _finding(context: Context, guideline: Guideline, broken: list[Violation]) -> Finding:
    worst = broken[0]
    many = f" (worst of {len(broken)} cases)" if len(broken) > 1 else ""
    return Finding(
        code="self-consistency",
        severity="warning" if worst.excess > 1 else "advice",
        title=f"{guideline.left} takes {_longer(worst.excess)} {guideline.right}: {worst.left.label}{many}",
        where={
            "guideline": guideline.name,
            "benchmark": worst.left.benchmark,
            "ranks": worst.left.ranks,
            "message_bytes": _size(worst.left),
            "layer": "mpi",
        },
        evidence=[evidence for violation in broken[:5] for evidence in _evidence(violation)],
        advice=_advice(context, guideline),
        lost=worst.excess / (1 + worst.excess),
    )


def _longer(excess: float) -> str:
    return f"{units.share(excess)} longer than" if excess < 1 else f"{units.digits(1 + excess)} times as long as"


def _evidence(violation: Violation) -> list[Evidence]:
    times = "" if violation.times == 1 else f"{violation.times:g} x "
    bound = violation.times * (violation.right.median or 0.0)
    return [
        Evidence(what=violation.left.label, value=violation.left.median or 0.0, unit="s"),
        Evidence(what=f"{times}{violation.right.label}", value=bound, unit="s"),
    ]


def _advice(context: Context, guideline: Guideline) -> str:
    if guideline.name in ("broadcast", "barrier"):
        return f"A program is faster with the composition: {setting(context.mpi, 'collective algorithm')}."
    if guideline.name == "monotony":
        return f"Padding the message would make it faster; {setting(context.mpi, 'eager limit')}."
    return f"Use {guideline.right} at these sizes, and compare another MPI (`scope run --mpi NAME`)."
