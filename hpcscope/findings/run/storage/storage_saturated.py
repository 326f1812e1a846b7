"""More ranks gain nothing: the part of the storage that all ranks share is saturated."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each


def find(run: Run) -> Found:
    """Find for each benchmark the fastest way to access files among those whose saturation was measured."""
    measured = [
        (saturation, enough, limit)
        for saturation in run.models.saturations
        if (enough := saturation.enough_ranks) and (limit := saturation.saturated_bytes_per_s)
        if (enough.high or enough.value) <= saturation.points[-1].ranks
    ]
    fastest = largest_of_each(measured, lambda one: one[0].subject.benchmark, lambda one: one[2].value)
    for saturation, enough, limit in fastest:
        processes = units.count(max(round(enough.value), 1), "rank")
        yield Finding(
            code="storage-saturated",
            severity="information",
            title=(
                f"{saturation.subject.label}: {processes} reach 90 % of the {units.quantity(limit.value, 'B/s')}"
                " that all ranks share"
            ),
            where={"benchmark": saturation.subject.benchmark, "ranks": saturation.subject.ranks},
            evidence=[
                Evidence(what="saturated bandwidth according to the fitted law", value=limit.value, unit="B/s"),
                Evidence(what="ranks that reach 90 % of this bandwidth", value=enough.value),
                *(
                    Evidence(what=f"measured on {point.ranks} ranks", value=point.bytes_per_s.value, unit="B/s")
                    for point in saturation.points
                ),
            ],
            advice=(
                f"Let {processes} access the files for all ranks. To use more ranks, add servers or disks, or use "
                "a faster network."
            ),
        )
