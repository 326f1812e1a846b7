"""The synchronized clocks of the hosts differ too much for the times that are measured with them."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run

TOLERATED = 0.1
"""Fraction of a collective's time by which the clocks may differ."""


def find(run: Run) -> Found:
    """Find collectives (global definition) whose times are too short for the largest observed clock error."""
    hosts = max((launch.clock_synchronization.hosts for launch in run.raw_samples.launches), default=1)
    errors = [launch.clock_synchronization.error_s for launch in run.raw_samples.launches]
    errors += [launch.clock_synchronization.error_at_end_s or 0.0 for launch in run.raw_samples.launches]
    errors += [end.clock_error_s for end in run.raw_samples.ends]
    worst = max(errors, default=0.0)
    touched = [
        s
        for s in run.headlines
        if s.definition == "global" and s.unit == "s" and worst > TOLERATED * (s.median or 0)
    ]
    if hosts < 2 or not touched:
        return
    shortest = min(touched, key=lambda s: s.median or 0.0)
    yield Finding(
        code="clock-error",
        about="measurement",
        severity="warning",
        title=(
            f"The synchronized clocks differed by up to {units.quantity(worst, 's')}, more than "
            f"{units.share(TOLERATED)} of the time of {len(touched)} collective cases"
        ),
        where={"hosts": hosts, "benchmark": ", ".join(sorted({s.benchmark for s in touched}))},
        evidence=[
            Evidence(what="largest clock error of any launch", value=worst, unit="s"),
            Evidence(what=shortest.label, value=shortest.median or 0.0, unit="s"),
        ],
        advice="For these cases, use a definition of time that needs no common clock: max_rank or streaming.",
    )
