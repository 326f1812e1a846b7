"""Published computation and communication of applications on two networks beside those of a run.

The times are those of another machine; only the law of computation and the ratios of networks are comparable.
"""

from __future__ import annotations

from collections.abc import Iterable

from scope.models.published.reference import Reference, Share
from scope.models.published.reproduction import Row
from scope.statistics.summary import Summary

Times = dict[int, dict[str, Summary]]
"""By number of processes and metric, of one application, class and transport."""


def rows(reference: Reference, summaries: list[Summary]) -> list[Row]:
    """Return each published figure with ours, then how far computation deviates from its law, and our own ratios.

    Ours are of the published class if that was run, else of the class that was.
    """
    transports = {network.name: network.transport for network in reference.network}
    found: list[Row] = []
    for one in reference.share:
        times = _times(one, transports[one.network], summaries)
        if one.quantity == "operations":
            found.append(_operations(one, times))
        elif one.quantity == "computation":
            found += [_computation(one, times), _off_the_law(one, times)]
        else:
            found += list(_ratios(one, times, _times(one, transports[one.over], summaries)))
    return found


def _times(one: Share, transport: str, summaries: list[Summary]) -> Times:
    mine = [
        s
        for s in summaries
        if (s.benchmark, s.transport) == (one.benchmark, transport)
        and s.primary
        and s.valid
        and s.median is not None
    ]
    classes = {s.parameters["class"] for s in mine}
    chosen = (
        one.problem
        if one.problem in classes
        else max(classes, key=lambda one: "SWABC".find(str(one)), default=None)
    )
    times: Times = {}
    for s in mine:
        if s.parameters["class"] == chosen and s.parameters.get("variant", "plain") == "plain":
            times.setdefault(s.ranks, {})[s.metric] = s
    return times


def _median(metrics: dict[str, Summary], name: str) -> float | None:
    return metrics[name].median if name in metrics else None


def _operations(one: Share, times: Times) -> Row:
    """Return the operations of the published class: rate times time, which must agree on any machine."""
    metrics = next((times[ranks] for ranks in sorted(times)), {})
    rate, time = _median(metrics, "mops_per_s"), _median(metrics, "time_s")
    same = bool(metrics) and metrics["time_s"].parameters["class"] == one.problem
    return _row(one, one.words, one.published, rate * time if rate and time and same else None, "Mop", metrics)


def _computing(times: Times) -> dict[int, float]:
    """Return processes times the seconds that each computes: constant where the law holds."""
    found = {ranks: _median(metrics, "compute_s") for ranks, metrics in times.items()}
    return {ranks: ranks * seconds for ranks, seconds in found.items() if seconds}


def _computation(one: Share, times: Times) -> Row:
    """Fit a0 of t(p) = a0 / p: the sum over p of (a0 / (p t) - 1)^2 is least."""
    computing = _computing(times)
    inverse = [1 / each for each in computing.values()]
    a0 = sum(inverse) / sum(each**2 for each in inverse) if inverse else None
    return _row(one, one.words, one.published, a0, "s", _largest(times))


def _off_the_law(one: Share, times: Times) -> Row:
    computing = _computing(times)
    a0 = _computation(one, times).measured
    off = max(abs(each / a0 - 1) for each in computing.values()) if a0 and len(computing) > 1 else None
    return _row(one, f"{one.words}, largest deviation from a0/p", None, off, "1", _largest(times))


def _communication(metrics: dict[str, Summary]) -> float | None:
    """Return the seconds in messages as a tracer sees them, which cannot tell waiting from sending."""
    parts = [_median(metrics, name) for name in ("communicate_s", "idle_s")]
    return sum(part for part in parts if part is not None) if None not in parts else None


def _ratios(one: Share, above: Times, below: Times) -> Iterable[Row]:
    """Yield the quotient of two networks at the published number of processes, or at every one that was run."""
    both = {ranks for ranks in above if ranks in below and ranks > 1}
    for ranks in [one.ranks] if one.ranks else sorted(both) or [0]:
        ours = [_communication(times.get(ranks, {})) for times in (above, below)]
        quotient = ours[0] / ours[1] if ours[0] and ours[1] else None
        words = one.words + (f", {ranks} processes" if ranks else "")
        yield _row(one, words, one.published, quotient, "1", above.get(ranks, {}))


def _largest(times: Times) -> dict[str, Summary]:
    return times[max(times)] if times else {}


def _row(
    one: Share, words: str, published: float | None, measured: float | None, unit: str, metrics: dict[str, Summary]
) -> Row:
    ours = next(iter(metrics.values()), None) if measured is not None else None
    remarks = [one.remark] if one.remark else []
    if ours is None:
        remarks.append("not measured here")
    elif ours.parameters["class"] != one.problem:
        remarks.append(f"class {ours.parameters['class']} here")
    return Row(
        row=words,
        published=published,
        predicted=None,
        measured=measured,
        unit=unit,
        limit=None,
        origin=ours.origin if ours else "published",
        size=0,
        ranks=ours.ranks if ours else one.ranks,
        remark="; ".join(remarks),
    )
