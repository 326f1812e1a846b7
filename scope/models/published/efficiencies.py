"""Published shares of the peak rate beside ours: what the fastest case of a benchmark reaches of p processors.

Shares of the peak compare machines of any speed. Without a published one, the share of p times our rate on one
process stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterable

from scope.models.published.reference import Efficiency, Reference
from scope.models.published.reproduction import Row
from scope.statistics.ratio import ratio
from scope.statistics.summary import Summary

UNITS = {"flop/s": 1.0, "Mop/s": 1e6}
"""Operations per second in the units of rates."""


def rows(reference: Reference, summaries: list[Summary]) -> list[Row]:
    """Return each published share of the peak with ours, and for each of several processes our efficiency.

    Ours is the highest rate over all cases on the largest number of processes not above the published one; the
    peak that of one process times their number.
    """
    transports = {network.name: network.transport for network in reference.network}
    peak = _fastest(s for s in _rates(summaries, reference.peak) if s.ranks == 1)
    found = []
    for one in reference.efficiency:
        rates = [s for s in _rates(summaries, one.benchmark) if s.ranks <= one.ranks]
        over = [s for s in rates if s.ranks > 1 and s.transport == transports[one.network]]
        most = max((s.ranks for s in over), default=0)
        ours = _fastest(s for s in over if s.ranks == most)
        found.append(_share(one, ours, peak))
        alone = [s for s in rates if s.ranks == 1 and ours is not None and s.parameters == ours.parameters]
        if ours is not None and alone:
            found.append(_of_one(one, ours, alone[0]))
    return found


def _rates(summaries: Iterable[Summary], benchmark: str) -> list[Summary]:
    named = (s for s in summaries if s.benchmark == benchmark and s.unit in UNITS and s.is_headline)
    # Rates of one process, such as a benchmark may have beside that of all, are none of the whole.
    return [s for s in named if s.metric in ("flops_per_s", "mops_per_s")]


def _fastest(rates: Iterable[Summary]) -> Summary | None:
    return max(rates, key=lambda s: s.median or 0.0, default=None)


def _share(one: Efficiency, ours: Summary | None, peak: Summary | None) -> Row:
    measured = None
    if ours is not None and peak is not None:
        share = ratio(ours.per_launch, peak.per_launch).value
        measured = share * UNITS[ours.unit] / (UNITS[peak.unit] * ours.ranks)
    remarks = [one.remark] if one.remark else []
    if ours is None:
        remarks.append("not measured here")
    else:
        remarks.append(f"transport {ours.transport}")
        if ours.ranks != one.ranks:
            remarks.append(f"{ours.ranks} processes here")
    return Row(
        row=f"{one.words}, {one.network}, share of the peak",
        published=one.published,
        predicted=None,
        measured=measured,
        unit="1",
        limit=1.0,
        origin=ours.origin if ours else "published",
        size=0,
        ranks=ours.ranks if ours else one.ranks,
        remark="; ".join(remarks),
    )


def _of_one(one: Efficiency, ours: Summary, alone: Summary) -> Row:
    return Row(
        row=f"{one.words}, {one.network}, share of {ours.ranks} times one process",
        published=None,
        predicted=None,
        measured=ratio(ours.per_launch, alone.per_launch).value / ours.ranks,
        unit="1",
        limit=None,
        origin=ours.origin,
        size=0,
        ranks=ours.ranks,
        remark=f"transport {ours.transport}",
    )
