"""A parallel sort gives one rank more than its share."""

from hpcscope.findings.finding import Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.findings.run.program_case import algorithm_cases

IMBALANCE = "partition_imbalance"
LARGEST = 1.25
"""Regular sampling of distinct keys stays near 1; its upper bound is 2 (Li et al. 1993, theorem 1)."""
BOUND = 2.0


def find(run: Run) -> Found:
    """Find for each kind of input the sort with the largest partition, if that is too large at 95 % confidence."""
    uneven = [
        case
        for case in algorithm_cases(run)
        if (share := case.figures.get(IMBALANCE)) and share.ranks > 1 and (share.ci_low or 0.0) > LARGEST
    ]
    worst = largest_of_each(
        uneven, lambda case: (case.total.benchmark, case.kind), lambda case: case.seconds(IMBALANCE)
    )
    for case in worst:
        largest = case.seconds(IMBALANCE)
        yield Finding(
            code="partition-imbalance",
            severity="warning" if largest > BOUND else "advice",
            title=f"{case.total.label}: one rank gets {largest:.2f} times its share of the keys",
            where=case.where,
            evidence=case.evidence(IMBALANCE, "idle_s", "compute_s", "time_s"),
            advice=(
                "All ranks wait for that rank in the last stage. Pivots cannot separate equal keys: break ties by "
                "position (`variant=tuned` does), or take more samples from each rank."
            ),
            lost=1 - 1 / largest,
        )
