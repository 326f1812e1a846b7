"""Published rates of applications on several networks beside ours, with the ratios of networks.

The rates are those of another machine; only the ratios of networks are comparable.
"""

from __future__ import annotations

from itertools import combinations

from scope.models.published.reference import Rate, Reference
from scope.models.published.reproduction import Row
from scope.statistics.ratio import ratio
from scope.statistics.summary import Summary

METRIC = "mops_per_s"
UNIT = "Mop/s"


def rows(reference: Reference, summaries: list[Summary]) -> list[Row]:
    """Return each published rate with ours, then for each application and class the ratios of its networks.

    Ours is of the published class if that was run, else of the class that was, on the largest number of processes
    not above the published one. Both networks of a ratio have the same class and number of processes.
    """
    transports = {network.name: network.transport for network in reference.network}
    ours = {id(rate): _ours(rate, transports[rate.network], summaries) for rate in reference.rate}
    rates = [_rate(rate, ours[id(rate)]) for rate in reference.rate]
    ratios = [
        _ratio(above, below, ours[id(above)], ours[id(below)])
        for below, above in combinations(reference.rate, 2)
        if (above.benchmark, above.problem) == (below.benchmark, below.problem)
    ]
    return rates + ratios


def _ours(rate: Rate, transport: str, summaries: list[Summary]) -> Summary | None:
    found = [
        s
        for s in summaries
        if (s.benchmark, s.metric, s.transport) == (rate.benchmark, METRIC, transport)
        and s.primary
        and s.valid
        and s.median is not None
        and 1 < s.ranks <= rate.ranks
    ]
    return max(found, key=lambda s: (s.parameters["class"] == rate.problem, s.ranks), default=None)


def _words(rate: Rate) -> str:
    kernel = rate.benchmark.rpartition("_")[2].upper()
    return f"{kernel} {rate.problem}, {rate.ranks} processes"


def _here(rate: Rate, ours: Summary | None) -> str:
    """Return the differences from the published experiment in words."""
    if ours is None:
        return "not measured here"
    remarks = [f"transport {ours.transport}"]
    if ours.parameters["class"] != rate.problem:
        remarks.append(f"class {ours.parameters['class']} here")
    if ours.ranks != rate.ranks:
        remarks.append(f"{ours.ranks} processes here")
    return ", ".join(remarks)


def _rate(rate: Rate, ours: Summary | None) -> Row:
    return Row(
        row=f"{_words(rate)}, {rate.network}, {UNIT}",
        published=rate.published,
        predicted=None,
        measured=ours.median if ours else None,
        unit=UNIT,
        limit=None,
        origin=ours.origin if ours else "published",
        size=0,
        ranks=ours.ranks if ours else rate.ranks,
        remark=_here(rate, ours),
    )


def _ratio(above: Rate, below: Rate, ours: Summary | None, other: Summary | None) -> Row:
    same = (
        ours is not None
        and other is not None
        and (ours.ranks, ours.parameters, ours.origin) == (other.ranks, other.parameters, other.origin)
    )
    measured = (
        ratio(ours.per_launch, other.per_launch).value
        if same and ours and other and ours.median and other.median
        else None
    )
    return Row(
        row=f"{_words(above)}, {above.network} over {below.network}",
        published=above.published / below.published,
        predicted=None,
        measured=measured,
        unit="1",
        limit=None,
        origin=ours.origin if measured and ours else "published",
        size=0,
        ranks=ours.ranks if ours else above.ranks,
        remark=_here(above, ours if measured else None),
    )
