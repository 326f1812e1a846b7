"""An exchange takes significantly longer while other ranks, which share only the network with it, communicate."""

from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.models.communication.congestion import Congestion
from hpcscope.statistics.estimate import in_unit

AT_LEAST = 1.5
"""Least impact factor: ordinary queues explain smaller ones."""
CONTROL = "none"
"""The parameter value that stands for no load."""


def find(run: Run) -> list[Finding]:
    """Find impact factors that are large at 95 % confidence and larger than without load; one finding for all."""
    known = [congestion for congestion in run.models.congestion if not run.shares_processors(congestion.case)]
    hit = [congestion for congestion in known if not _is_control(congestion) and _certain(congestion, known)]
    return [_finding(hit, known)] if hit else []


def _is_control(congestion: Congestion) -> bool:
    return CONTROL in congestion.case.parameters.values()


def _certain(congestion: Congestion, known: list[Congestion]) -> bool:
    low = congestion.median.low
    return low is not None and low > AT_LEAST and all(low > other for other in _controls(congestion, known))


def _controls(congestion: Congestion, known: list[Congestion]) -> list[float]:
    """Return the upper bounds on the impact factor of the same exchange without load."""
    return [
        other.median.high or other.median.value
        for other in known
        if _is_control(other)
        and other.case.batch == congestion.case.batch
        and sum(other.case.parameters[name] != value for name, value in congestion.case.parameters.items()) == 1
    ]


def _finding(hit: list[Congestion], known: list[Congestion]) -> Finding:
    worst = max(hit, key=lambda congestion: congestion.median.value)
    tail = worst.tail
    tails = [] if tail is None else [Evidence(what=f"impact, 99th percentile: {in_unit(tail)}", value=tail.value)]
    loaded = [congestion for congestion in known if not _is_control(congestion)]
    return Finding(
        code="congestion",
        severity="warning",
        title=(
            f"{worst.case.label} takes {in_unit(worst.median)} times as long as without the load; {len(hit)} of "
            f"{len(loaded)} combinations of load and exchange take more than {AT_LEAST:g} times as long"
        ),
        where={"benchmark": worst.case.benchmark, "layer": "network"},
        evidence=[
            *(
                Evidence(what=f"impact factor of {congestion.case.label}", value=congestion.median.value)
                for congestion in hit
            ),
            *tails,
            *(
                Evidence(what="impact factor without load, upper bound", value=control)
                for control in _controls(worst, known)
            ),
            Evidence(what="launches", value=worst.launches),
        ],
        advice=(
            "Jobs slow each other down in the network. Keep a job inside a switch or group if it fits (placement "
            "by topology), and use the fabric's congestion control and adaptive routing. Give file traffic its "
            "own service level, and add capacity to shared trunks: `scope topology discover` finds them."
        ),
        lost=1 - 1 / worst.median.value,
    )
