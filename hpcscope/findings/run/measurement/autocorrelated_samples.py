"""Successive samples depend on each other, so that they hold less information than their number suggests."""

from __future__ import annotations

from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import one_of_each_case
from hpcscope.findings.run.measurement import machine_states
from hpcscope.statistics.dependence import SIGNIFICANCE
from hpcscope.statistics.distributions import binomial_cdf

CERTAINTY = 0.001


def find(run: Run) -> list[Finding]:
    """Find more dependent cases than the false alarms of the test explain (a binomial number of them)."""
    tested = [s for s in one_of_each_case(run.headlines) if s.autocorrelation is not None]
    dependent = [s for s in tested if s.autocorrelated]
    by_chance = 1 - binomial_cdf(len(dependent) - 1, len(tested), SIGNIFICANCE)
    if by_chance >= CERTAINTY:
        return []
    pooled = [s for s in dependent if s.interval_basis == "samples"]
    worst = sorted(dependent, key=lambda s: -(s.autocorrelation or 0))
    launches = max((s.launches for s in pooled), default=0)
    advice = (
        "Their intervals are based on single samples and too narrow: use more launches"
        f" (`--launches {max(6, 2 * launches)}`)."
        if pooled
        else "The intervals are based on launches and remain valid; more samples per launch would add little."
    )
    return [
        Finding(
            code="autocorrelated-samples",
            about="measurement",
            cause=machine_states.cause_of(dependent),
            severity="warning" if pooled else "information",
            title=f"Successive samples are correlated in {len(dependent)} of {len(tested)} cases",
            where={"cases": len(dependent)},
            evidence=[
                Evidence(what=f"lag-1 autocorrelation of {s.label}", value=s.autocorrelation or 0.0)
                for s in worst[:5]
            ],
            advice=advice,
        )
    ]
