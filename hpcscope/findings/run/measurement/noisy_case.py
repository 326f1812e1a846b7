"""Cases whose intervals are wide."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import one_of_each_case
from hpcscope.findings.run.measurement import machine_states

WIDE = 0.1
"""Half width of the interval over the median above which a result cannot be trusted."""


def find(run: Run) -> Found:
    """Find cases whose interval over the launches is wide or missing; one finding for all of them."""
    # A mix of jobs and the output of another program have no repetitions.
    sampled = [case for case in run.headlines if run.benchmarks[case.benchmark].native]
    measured = [case for case in sampled if case.origin != "imported"]
    cases = [case for case in one_of_each_case(measured) if not case.dimensionless]
    noisy = [case for case in cases if case.relative_interval is None or case.relative_interval > WIDE]
    if not noisy:
        return
    worst = sorted(noisy, key=lambda s: -(s.relative_interval or float("inf")))
    wide = worst[0].relative_interval
    spread = f"up to ±{units.share(wide)}" if wide is not None else "some cases have no interval"
    yield Finding(
        code="noisy-case",
        about="measurement",
        cause=machine_states.cause_of(noisy),
        severity="warning",
        title=f"{len(noisy)} of {len(cases)} cases have intervals over ±{units.share(WIDE)} ({spread})",
        where={"benchmark": worst[0].benchmark, "cases": len(noisy)},
        evidence=[
            Evidence(what=f"half width of the interval / median of {s.label}", value=s.relative_interval or "none")
            for s in worst[:10]
        ],
        advice="Measure more launches (`scope run --launches NUMBER`), and look for other processes on the "
        "machine.",
    )
