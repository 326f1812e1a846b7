"""A collective takes longer when the same bytes are distributed unequally."""

from hpcscope import units
from hpcscope.findings.finding import Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.collectives.collective_guidelines import VARIABLE
from hpcscope.findings.run.collectives.guideline import where
from hpcscope.findings.run.evidence import but_for, certainly_longer, excess_of, how_compared, largest_of_each

SMALLEST_EXCESS = 0.25
LARGE_EXCESS = 1.0


def find(run: Run) -> Found:
    """Find for each collective the worst distribution whose interval is above the interval of equal blocks.

    The total bytes are the same. The largest block bounds the time from below, so a distribution that gives
    everything to one rank is left out.
    """
    times = [
        s
        for s in run.headlines
        if s.unit == "s"
        and s.definition == "global"
        and s.ci_low is not None
        and run.calls(s, *VARIABLE.values())
        and not run.shares_processors(s)
    ]
    equal = {but_for(s, "blocks"): s for s in times if s.parameters.get("blocks") == "equal"}
    longer = [
        (case, other)
        for case in times
        if case.parameters.get("blocks") in ("proportional", "one_empty")
        if (other := equal.get(but_for(case, "blocks"))) and certainly_longer(case, other, SMALLEST_EXCESS)
    ]
    worst = largest_of_each(longer, lambda pair: pair[0].benchmark, lambda pair: excess_of(*pair))
    for case, other in worst:
        excess = excess_of(case, other)
        yield Finding(
            code="unequal-blocks",
            severity="warning" if excess > LARGE_EXCESS else "advice",
            title=f"{case.label} takes {units.longer(excess)} with equal blocks",
            where=where(case),
            evidence=[*run.evidence(case, other), how_compared(case, other)],
            advice=(
                "Distribute the data more evenly, or pad it and use the collective for equal blocks. For a few "
                "large blocks, also try nonblocking sends and receives."
            ),
            lost=excess / (1 + excess),
        )
