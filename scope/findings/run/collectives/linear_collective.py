"""A collective that should take logarithmically many steps grows with every process."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context
from scope.findings.run.measurement.oversubscription import crowded
from scope.findings.settings import setting
from scope.models.fit import Fit

IN_STEPS = ("barrier", "broadcast", "reduce", "allreduce")
"""Collectives for which each process has or gets the same: a tree does them in ceil(log2 p) steps."""
FEWEST_PROCESSES = 8
"""Below, a line and a logarithm are hardly told apart, and little is lost."""


def find(context: Context) -> list[Finding]:
    """Find collectives of which the linear model is chosen, though switch and memory carry many messages at once.

    The logarithmic model has a cost for each process, too: that the linear one is chosen means that steps explain
    nothing more. One finding per collective, for the message that loses most to it.
    """
    crowds = crowded(context)
    worst: dict[str, tuple[float, Fit]] = {}
    for fit in context.models.fits:
        subject = fit.subject
        counts = [int(p.x) for p in fit.points if fit.variable == "ranks"]
        if fit.model != "linear_collective" or not fit.chosen or not _is_in_steps(subject.benchmark):
            continue
        if any((count, subject.transport, subject.placement) in crowds for count in counts):
            continue
        lost = _lost(fit)
        if max(counts) >= FEWEST_PROCESSES and lost > worst.get(subject.benchmark, (0.0, fit))[0]:
            worst[subject.benchmark] = (lost, fit)
    return [_finding(context, lost, fit) for lost, fit in worst.values()]


def _is_in_steps(benchmark: str) -> bool:
    return benchmark.startswith("mpi.") and benchmark.removeprefix("mpi.") in IN_STEPS


def _lost(fit: Fit) -> float:
    """Return the share of the time of most processes that logarithmically many steps would save."""
    last = max(fit.points, key=lambda point: point.x)
    first = min(fit.points, key=lambda point: point.x)
    per_process = next((p.value for p in fit.parameters if p.name == "t_p_s"), 0.0)
    steps = (int(last.x) - 1).bit_length() - (int(first.x) - 1).bit_length()
    return max(0.0, 1 - (first.fitted + steps * per_process) / last.fitted)


def _finding(context: Context, lost: float, fit: Fit) -> Finding:
    last = max(fit.points, key=lambda point: point.x)
    per_process = next((p for p in fit.parameters if p.name == "t_p_s"), None)
    return Finding(
        code="linear-collective",
        severity="advice",
        title=(
            f"{fit.subject.benchmark} grows by {units.quantity(per_process.value if per_process else None, 's')} "
            f"with every process, not with their logarithm: {fit.subject.label}"
        ),
        where={"benchmark": fit.subject.benchmark, "transport": fit.subject.transport, "layer": "mpi"},
        evidence=[
            Evidence(what=f"BIC of {fit.model}: {fit.reason}", value=fit.bic),
            Evidence(what=f"measured on {int(last.x)} processes", value=last.measured, unit="s"),
        ],
        advice=(
            f"Where a switch or a memory carries many messages at once a tree needs ceil(log2 p) steps; "
            f"{setting(context.mpi, 'collective algorithm')}. Over a hub, or one shared cable, nothing is wrong."
        ),
        lost=lost,
    )
