"""Published R_max of LINPACK beside ours, with speed-ups and ratios of networks.

The rates are those of another machine; only ratios are comparable.
"""

from __future__ import annotations

from itertools import combinations

from scope.models.published.reference import LINPACK, Linpack, Reference
from scope.models.published.reproduction import Row
from scope.statistics.ratio import ratio
from scope.statistics.summary import Summary

UNIT = "Gflop/s"


def rows(reference: Reference, summaries: list[Summary]) -> list[Row]:
    """Return each published R_max with ours, then speed-ups over one process, then ratios of networks.

    Ours is the best median rate over all sizes, blocks and grids of the run on as many processes. One process has
    no network: its rate over any transport counts.
    """
    transports = {network.name: network.transport for network in reference.network}
    ours = {id(one): _best(one.ranks, transports[one.network], summaries) for one in reference.linpack}
    pairs = list(combinations(reference.linpack, 2))
    found = [_rate(one, ours[id(one)]) for one in reference.linpack]
    for below, above in pairs:
        if below.network == above.network and below.ranks == 1:
            words = f"{above.network}: {above.ranks} processes over one"
            found.append(_ratio(words, above, below, ours[id(above)], ours[id(below)]))
    for below, above in pairs:
        if below.ranks == above.ranks > 1:
            words = f"{above.ranks} processes: {above.network} over {below.network}"
            found.append(_ratio(words, above, below, ours[id(above)], ours[id(below)]))
    return found


def _best(ranks: int, transport: str, summaries: list[Summary]) -> Summary | None:
    found = [
        s
        for s in summaries
        if (s.benchmark, s.metric, s.ranks) == (LINPACK, "flops_per_s", ranks)
        and s.primary
        and s.valid
        and s.median is not None
        and (ranks == 1 or s.transport == transport)
    ]
    return max(found, key=lambda s: s.median or 0.0, default=None)


def _rate(one: Linpack, ours: Summary | None) -> Row:
    remark = "not measured here"
    if ours is not None:
        remark = f"n={ours.parameters['n']} in blocks of {ours.parameters['block']} here, published n={one.n_max}"
    return Row(
        row=f"R_max, {one.ranks} processes, {one.network}, {UNIT}",
        published=one.r_max,
        predicted=None,
        measured=ours.median / 1e9 if ours and ours.median else None,
        unit=UNIT,
        limit=None,
        origin=ours.origin if ours else "published",
        size=int(ours.parameters["n"]) if ours else one.n_max,
        ranks=one.ranks,
        remark=remark,
    )


def _ratio(words: str, above: Linpack, below: Linpack, ours: Summary | None, other: Summary | None) -> Row:
    measured = (
        ratio(ours.per_launch, other.per_launch).value if ours and other and ours.median and other.median else None
    )
    return Row(
        row=f"R_max, {words}",
        published=above.r_max / below.r_max,
        predicted=None,
        measured=measured,
        unit="1",
        limit=None,
        origin=ours.origin if measured and ours else "published",
        size=above.n_max,
        ranks=above.ranks,
        remark="each at its own best size and block" if measured else "not measured here",
    )
