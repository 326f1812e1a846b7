"""An application spends more time in its all-to-all exchanges than in computing."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.findings.run.program_case import ProgramCase, application_cases

ALL_TO_ALL = {"application.npb_is": "keys", "application.npb_ft": "transpose"}
"""The applications whose exchanges are all all-to-alls, and the data that they exchange."""


def find(run: Run) -> Found:
    """Find for each such application the most ranks on which its all-to-alls take longer than its computation.

    Waiting for other ranks does not count: it may have other causes.
    """
    bound = [
        case
        for case in application_cases(run)
        if case.total.benchmark in ALL_TO_ALL and case.certainly_exceeds("exchange_s", "compute_s")
    ]
    for case in largest_of_each(bound, ProgramCase.apart, lambda case: case.total.ranks):
        total = case.total
        exchange, compute, sent = (case.seconds(name) for name in ("exchange_s", "compute_s", "exchange_bytes"))
        rate = sent / exchange
        share = exchange / (total.median or exchange)
        yield Finding(
            code="all-to-all-bound",
            severity="advice",
            title=(
                f"{case.name} on {total.ranks} ranks spends {units.quantity(exchange, 's')} in all-to-all "
                f"exchanges ({units.quantity(rate, 'B/s')} per rank) and {units.quantity(compute, 's')} computing"
            ),
            where=case.where,
            evidence=[
                *case.evidence("exchange_s", "compute_s", "idle_s", "time_s", "exchange_bytes"),
                Evidence(what=f"rate of the {ALL_TO_ALL[total.benchmark]} per rank", value=rate, unit="B/s"),
            ],
            advice=(
                "Compare the rate with mpi.alltoall at the same size. If mpi.alltoall is as slow, the bisection "
                "bandwidth or the library's algorithm is the limit (`scope topology`, `scope run mpi.alltoall`). "
                "With fewer ranks on a host, each rank gets a larger part of the bandwidth of the host's link."
            ),
            lost=min(share, 1.0),
        )
