"""Published rates of applications on several networks beside ours, with the ratios of networks.

The rates are those of another machine; only the ratios of networks are comparable.
"""

from __future__ import annotations

from itertools import combinations

from scope.models.published.reference import Rate, Reference
from scope.models.published.reproduction import Row
from scope.statistics.ratio import ratio
from scope.statistics.summary import Summary

UNIT = "Mop/s"
IN_UNIT = {"mops_per_s": 1.0, "flops_per_s": 1e-6}
"""The metrics of rates, in the unit of the published ones."""


def rows(reference: Reference, summaries: list[Summary]) -> list[Row]:
    """Return each published rate with ours, then for each application and class the ratios of its networks.

    Ours is of the published class if that was run, else of the class that was, on the largest number of processes
    not above the published one; of several cases the fastest. Both networks of a ratio have the same class and
    number of processes.
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
        if (s.benchmark, s.transport) == (rate.benchmark, transport)
        and s.metric in IN_UNIT
        and s.primary
        and s.valid
        and s.median is not None
        and 1 < s.ranks <= rate.ranks
    ]
    return max(found, key=lambda s: (_class(s) == rate.problem, s.ranks, s.median or 0.0), default=None)


def _class(ours: Summary) -> str:
    return str(ours.parameters.get("class", ""))


def _words(rate: Rate) -> str:
    kernel = rate.benchmark.replace("_", ".").rpartition(".")[2].upper()
    return f"{kernel} {rate.problem}".rstrip() + f", {rate.ranks} processes"


def _here(rate: Rate, ours: Summary | None) -> str:
    """Return the differences from the published experiment in words."""
    if ours is None:
        return "not measured here"
    remarks = [f"transport {ours.transport}"]
    if _class(ours) != rate.problem:
        remarks.append(f"class {_class(ours)} here")
    if ours.ranks != rate.ranks:
        remarks.append(f"{ours.ranks} processes here")
    return ", ".join(remarks)


def _rate(rate: Rate, ours: Summary | None) -> Row:
    return Row(
        row=f"{_words(rate)}, {rate.network}, {UNIT}",
        published=rate.published,
        predicted=None,
        measured=ours.median * IN_UNIT[ours.metric] if ours and ours.median is not None else None,
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
        published=above.published / below.published if above.published and below.published else None,
        predicted=None,
        measured=measured,
        unit="1",
        limit=None,
        origin=ours.origin if measured and ours else "published",
        size=0,
        ranks=ours.ranks if ours else above.ranks,
        remark=_here(above, ours if measured else None),
    )
