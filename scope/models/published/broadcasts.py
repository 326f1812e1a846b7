"""A published table of broadcast algorithms beside the same algorithms here: seconds, and their ratios.

The payload differs, so only the ratios are comparable. Each time is compared with the physical limit: the time in
which the payload crosses the slowest link that must carry it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from scope import units
from scope.models.published.reference import Broadcast, Reference
from scope.models.published.reproduction import Row
from scope.samples.records import Origin
from scope.statistics.summary import Summary


@dataclass(frozen=True)
class Broadcasts:
    """The broadcasts of a run, over all its processes."""

    ranks: int
    message_bytes: int
    origin: Origin
    measured_s: Mapping[str, float]
    """By transport."""
    estimated_s: Mapping[str, float]
    """By transport, from the topology."""
    limit_s: float | None


def measured(summaries: list[Summary]) -> dict[str, Summary]:
    """Return a run's largest broadcast by transport: the time of the most processes and the most bytes."""
    times = [
        s
        for s in summaries
        if s.benchmark == "mpi.broadcast"
        and s.metric == "time_s"
        and s.primary
        and s.valid
        and s.median is not None
    ]
    largest = max(((s.ranks, s.parameters["message_bytes"]) for s in times), default=None)
    return {s.transport: s for s in times if (s.ranks, s.parameters["message_bytes"]) == largest}


def rows(reference: Reference, known: Broadcasts) -> list[Row]:
    """Return each algorithm's seconds, then the ratios of those that were published, then each over the limit."""
    times = [_time(one, reference, known) for one in reference.broadcast]
    published = [one for one in reference.broadcast if one.published is not None]
    ratios = [_ratio(above, below, known) for above, below in combinations(published, 2)]
    return times + ratios + [_over_limit(one, known) for one in reference.broadcast]


def _time(one: Broadcast, reference: Reference, known: Broadcasts) -> Row:
    same = known.message_bytes == reference.payload_bytes
    remarks = [] if same else [f"{_bytes(known.message_bytes)} here"]
    if one.published is not None:
        there = [] if same else [f"published: {units.printed(reference.payload_bytes)}"]
        remarks.append(", ".join([*there, f"estimated there {one.estimated:g} s"]))
    estimated, found = known.estimated_s.get(one.transport), known.measured_s.get(one.transport)
    return _row(one.words, one.published, estimated, found, "s", known.limit_s, known, remarks)


def _ratio(above: Broadcast, below: Broadcast, known: Broadcasts) -> Row:
    def over(times: Mapping[str, float | None]) -> float | None:
        up, down = times.get(above.transport), times.get(below.transport)
        return up / down if up and down else None

    published = over({one.transport: one.published for one in (above, below)})
    words = f"{above.words} over {below.words}"
    return _row(
        words, published, over(dict(known.estimated_s)), over(dict(known.measured_s)), "1", None, known, []
    )


def _over_limit(one: Broadcast, known: Broadcasts) -> Row:
    def over(seconds: float | None) -> float | None:
        return seconds / known.limit_s if seconds is not None and known.limit_s else None

    estimated, found = (times.get(one.transport) for times in (known.estimated_s, known.measured_s))
    return _row(f"{one.words} over the limit", None, over(estimated), over(found), "1", 1.0, known, [])


def _row(
    words: str,
    published: float | None,
    predicted: float | None,
    found: float | None,
    unit: str,
    limit: float | None,
    known: Broadcasts,
    remarks: list[str],
) -> Row:
    return Row(
        row=words,
        published=published,
        predicted=predicted,
        measured=found,
        unit=unit,
        limit=limit,
        origin=known.origin if found is not None else "simulated" if predicted is not None else "published",
        size=known.message_bytes,
        ranks=known.ranks,
        remark="; ".join(remarks + (["not measured here"] if found is None else [])),
    )


def _bytes(count: int) -> str:
    return units.quantity(count, "B")
