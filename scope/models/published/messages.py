"""Published rates of messages between two processes, over their length, beside those of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scope import units
from scope.models.measurements import Measurements
from scope.models.published.reference import MessageFigure, Reference
from scope.models.published.reproduction import Row
from scope.statistics.summary import Summary

_UNITS = {"latency": "s", "time": "s", "asymptotic_share": "1"}

BySize = Mapping[int, Summary]


def rows(reference: Reference, measurements: Measurements) -> list[Row]:
    """Return each published figure with ours; a curve has a row for each length that was measured."""
    return [row for one in reference.message for row in _rows(one, measurements, reference.link_bits_per_s)]


def _rows(one: MessageFigure, measurements: Measurements, link_bits_per_s: float) -> Iterator[Row]:
    times = _latencies(one, measurements)
    if one.quantity == "curve":
        for size, summary in times.items():
            yield _row(one, f"{one.words}, {units.size(size)}", _rate(size, summary), size, summary)
        return
    if not times:
        yield _row(one, one.words, None, 0, None)
    elif one.quantity in ("latency", "time"):
        size = min(times)
        time_s = times[size].median
        if one.over and time_s is not None:
            beside = _latencies(one.model_copy(update={"benchmark": one.over}), measurements).get(size)
            time_s = time_s / beside.median if beside and beside.median else None
        yield _row(one, one.words, time_s, size, times[size])
    else:
        size = max(times)
        rate = _rate(size, times[size])
        share = one.quantity == "asymptotic_share" and rate is not None
        yield _row(one, one.words, rate / link_bits_per_s if share and rate else rate, size, times[size])


def _latencies(one: MessageFigure, measurements: Measurements) -> BySize:
    """Return the ping-pongs of the figure's protocol by length: half round trips."""
    found = {
        measurements.size(s): s
        for s in measurements.headlines
        if (s.benchmark, s.metric) == (one.benchmark, one.metric)
        and one.placement in ("", s.placement.kind)
        and one.parameters.items() <= s.parameters.items()
    }
    return dict(sorted(found.items()))


def _rate(size: int, summary: Summary) -> float | None:
    return 8 * size / summary.median if summary.median else None


def _row(one: MessageFigure, words: str, measured: float | None, size: int, summary: Summary | None) -> Row:
    remarks = [one.remark, f"messages of {units.size(size)}" if summary else "not measured here"]
    return Row(
        row=words,
        published=one.published,
        predicted=None,
        measured=measured,
        unit="1" if one.over else _UNITS.get(one.quantity, "bit/s"),
        limit=None,
        origin=summary.origin if summary else "published",
        size=size,
        ranks=2,
        remark="; ".join(filter(None, remarks)),
    )
