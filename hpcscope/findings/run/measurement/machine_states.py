"""The machine changed its state during the run, and results depend on the state."""

from collections.abc import Sequence
from statistics import median

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import one_of_each_case
from hpcscope.statistics.course import Course
from hpcscope.statistics.summary import Summary

CAUSE = "states of the machine"
LISTED = 8
"""Maximum number of cases in the evidence."""


def find(run: Run) -> Found:
    """Find the states of the machine if results differ between them; one finding for the run."""
    cases = one_of_each_case(run.headlines)
    mixed = sorted(
        (case for case in cases if case.state_mixture), key=lambda summary: -(summary.state_factor or 0.0)
    )
    if not mixed:
        return
    course = run.course
    factors = [case.state_factor or 1.0 for case in mixed]
    yield Finding(
        code="machine-states",
        about="measurement",
        cause=CAUSE,
        severity="warning",
        title=f"The machine changed its speed {_times(course.changes)}: {len(mixed)} of {len(cases)} cases "
        f"differ between its states by a factor of up to {factors[0]:.3g} (median {median(factors):.3g})",
        where={"cases": len(mixed)},
        evidence=[*_states(course), *(_differing(run, case) for case in mixed[:LISTED])],
        advice=(
            "In the report, values marked † come from several states. Use the values of the state in which "
            "your programs run (`state_medians` in statistics.json), or measure again on a dedicated machine. "
            "Other processes, other virtual machines on the host and the processor's clock change the state."
        ),
        lost=1 - 1 / factors[0],
    )


def cause_of(cases: Sequence[Summary]) -> str:
    """Return the cause of a finding about these cases: machine states if most cases mix states, else empty."""
    return CAUSE if 2 * sum(case.state_mixture for case in cases) > len(cases) else ""


def _times(changes: int) -> str:
    return {1: "once", 2: "twice"}.get(changes, f"{changes} times")


def _states(course: Course) -> list[Evidence]:
    shown_by = "typical case" if course.shown_by == "cases" else f"fixed workload ({course.shown_by})"
    return [
        Evidence(what="fraction of time in the fastest state", value=units.share(course.states[0].share)),
        *(
            Evidence(
                what=f"fraction of time in a state where the {shown_by} takes {state.factor:.3g} times as long",
                value=units.share(state.share),
            )
            for state in course.states[1:]
        ),
    ]


def _differing(run: Run, case: Summary) -> Evidence:
    name = run.benchmarks.metric_label(case.metric, case.benchmark)
    values = " | ".join(units.quantity(value, case.unit) for value in case.state_medians)
    return Evidence(what=f"{name} of {case.label} in each state", value=values)
