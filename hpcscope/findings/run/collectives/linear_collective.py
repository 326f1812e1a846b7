"""The time of a collective that should take O(log p) steps grows linearly with the number of ranks."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.findings.settings import another_algorithm
from hpcscope.models.fitting.fit import Fit

IN_STEPS = ("MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce")
"""Collectives that a tree performs in ceil(log2 p) steps."""
FEWEST_PROCESSES = 8
"""On fewer ranks, a line and a logarithm hardly differ, and little is lost."""


def find(run: Run) -> list[Finding]:
    """Find collectives for which the linear model is chosen although the network carries concurrent messages.

    The logarithmic model has a cost per rank, too: the linear model is chosen if the steps explain nothing more.
    There is one finding per collective, for the message that loses most.
    """
    linear = [
        fit
        for fit in run.models.fits
        if fit.model == "linear_collective" and fit.chosen and run.calls(fit.subject, *IN_STEPS)
        for counts in [[int(point.x) for point in fit.points if fit.variable == "ranks"]]
        if max(counts) >= FEWEST_PROCESSES
        and _lost(fit) > 0
        and not any((count, *fit.subject.batch[1:]) in run.measurements.oversubscribed for count in counts)
    ]
    worst = largest_of_each(linear, lambda fit: fit.subject.benchmark, _lost)
    return [_finding(run, _lost(fit), fit) for fit in worst]


def _lost(fit: Fit) -> float:
    """Return the fraction of the time on the largest number of ranks that logarithmic steps would save."""
    last = max(fit.points, key=lambda point: point.x)
    first = min(fit.points, key=lambda point: point.x)
    per_process = next((p.value for p in fit.parameters if p.name == "t_p_s"), 0.0)
    steps = (int(last.x) - 1).bit_length() - (int(first.x) - 1).bit_length()
    return max(0.0, 1 - (first.fitted + steps * per_process) / last.fitted)


def _finding(run: Run, lost: float, fit: Fit) -> Finding:
    routine = run.benchmarks.routine(fit.subject.benchmark)
    last = max(fit.points, key=lambda point: point.x)
    per_process = next((p for p in fit.parameters if p.name == "t_p_s"), None)
    how = another_algorithm(run, routine, fit.subject.without(run.benchmarks, ranks=int(last.x)))
    return Finding(
        code="linear-collective",
        severity="advice",
        title=(
            f"{fit.subject.label}: the time grows by "
            f"{units.quantity(per_process.value if per_process else None, 's')} per rank, not logarithmically"
        ),
        where={"benchmark": fit.subject.benchmark, "transport": fit.subject.transport, "layer": "mpi"},
        evidence=[
            Evidence(what=f"BIC of {fit.model}: {fit.reason}", value=fit.bic),
            Evidence(what=f"measured on {int(last.x)} ranks", value=last.measured, unit="s"),
        ],
        advice=(
            "If a switch or memory carries concurrent messages, a tree over p ranks needs ceil(log2 p) steps; "
            f"{how.words}. On a hub or a shared cable, linear growth is expected."
        ),
        trials=how.trials,
        lost=lost,
    )
