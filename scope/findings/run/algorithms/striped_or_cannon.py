"""One of the two matrix products is faster than the other, and why."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.algorithms.cases import AlgorithmCase, algorithm_cases, words
from scope.findings.run.context import Context

STRIPED, CANNON = "algorithm.matmul_striped", "algorithm.matmul_cannon"
PARTS = {
    "compute_s": "computes",
    "distribute_s": "distributes",
    "exchange_s": "exchanges",
    "collect_s": "collects",
    "idle_s": "waits",
}
SMALLEST_EXCESS = 0.05


def find(context: Context) -> list[Finding]:
    """Find for each variant and each winner the case in which one product is certainly faster by most.

    Melas 2000, sec. 7.6.1: striped sends fewer and longer messages, Cannon more and shorter ones.
    """
    cases = [case for case in algorithm_cases(context) if case.total.ranks > 1]
    striped = {_key(case): case for case in cases if case.total.benchmark == STRIPED}
    best: dict[tuple[object, ...], tuple[AlgorithmCase, AlgorithmCase]] = {}
    for cannon in cases:
        other = striped.get(_key(cannon))
        if cannon.total.benchmark != CANNON or other is None:
            continue
        faster, slower = sorted((cannon, other), key=lambda case: case.total.median or 0.0)
        key = (cannon.kind, cannon.total.transport, faster.total.benchmark)
        known = best.get(key)
        if _certain(faster, slower) and (known is None or _excess(faster, slower) > _excess(*known)):
            best[key] = (faster, slower)
    return [_finding(faster, slower) for faster, slower in best.values()]


def _key(case: AlgorithmCase) -> tuple[object, ...]:
    total = case.total
    return (case.kind, case.size, total.parameters.get("rows", 0), total.ranks, total.transport, total.placement)


def _certain(faster: AlgorithmCase, slower: AlgorithmCase) -> bool:
    high, low = faster.total.ci_high, slower.total.ci_low
    return high is not None and low is not None and high < low and _excess(faster, slower) > SMALLEST_EXCESS


def _excess(faster: AlgorithmCase, slower: AlgorithmCase) -> float:
    return (slower.total.median or 0.0) / (faster.total.median or 1.0) - 1


def _finding(faster: AlgorithmCase, slower: AlgorithmCase) -> Finding:
    total = faster.total
    excess = _excess(faster, slower)
    return Finding(
        code="striped-or-cannon",
        severity="information",
        title=(
            f"{total.benchmark} is faster than {slower.total.benchmark}, {units.quantity(total.median, 's')} "
            f"against {units.quantity(slower.total.median, 's')} ({words(faster.kind)}, size {faster.size}, "
            f"{total.ranks} ranks): {why(faster, slower)}"
        ),
        where={
            "benchmark": total.benchmark,
            "size": faster.size,
            "ranks": total.ranks,
            "transport": total.transport,
            "layer": "algorithm",
        },
        evidence=[
            *_moved(faster),
            *_moved(slower),
            *faster.evidence("time_s", *PARTS),
            *slower.evidence("time_s", *PARTS),
        ],
        advice=(
            f"Use the faster one at this size and number of processes; the other takes {excess:.0%} longer. Where "
            "messages are what differs, few and long ones suit a network that is slow to start, short ones "
            "between neighbours one that carries many at once."
        ),
        lost=None,
    )


def why(faster: AlgorithmCase, slower: AlgorithmCase) -> str:
    """Say in which part most of the difference lies; of communication, who sends more and longer messages."""
    longer = {name: slower.seconds(name) - faster.seconds(name) for name in PARTS}
    part = max(longer, key=lambda name: longer[name])
    text = f"the slower one {PARTS[part]} {units.quantity(longer[part], 's')} longer"
    one, two = faster.total.work, slower.total.work
    if part in ("compute_s", "idle_s") or one is None or two is None or not one.messages or not two.messages:
        return text
    return (
        f"{text}; it sends {two.messages:.0f} messages of {units.quantity(two.bytes / two.messages, 'B')} on "
        f"average, the faster one {one.messages:.0f} of {units.quantity(one.bytes / one.messages, 'B')}"
    )


def _moved(case: AlgorithmCase) -> list[Evidence]:
    work = case.total.work
    if work is None:
        return []
    return [
        Evidence(what=f"messages of {case.total.label}", value=work.messages),
        Evidence(what=f"bytes moved by {case.total.label}", value=work.bytes, unit="B"),
    ]
