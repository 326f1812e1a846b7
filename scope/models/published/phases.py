"""The score of a list of file systems: geometric means of the phases that its rules name.

IO500 (rules of the list, version of 2024): score = sqrt(BW x MD), where BW is the geometric mean of the bandwidths
of four phases in GiB/s, and MD that of eight rates of metadata in thousands per second.
"""

from __future__ import annotations

from math import exp, log, sqrt

from scope import units
from scope.models.published.reference import Phase, Reference
from scope.models.published.reproduction import Row
from scope.statistics.summary import Summary

UNITS = {"bandwidth": (1 << 30, "GiB/s"), "metadata": (1000, "1000/s")}
RATE, RESIDENT = "bandwidth_bytes_per_s", "resident_share"
TOLERATED = 0.05
"""Share of a file in memory."""


def rows(reference: Reference, summaries: list[Summary]) -> list[Row]:
    """Return the figure of each phase, the means of both kinds, and the score; it lacks where a phase lacks."""
    found = [_row(phase, _measured(phase, summaries), summaries) for phase in reference.phase]
    kinds = [phase.kind for phase in reference.phase]
    means = [_mean(name, [row for row, kind in zip(found, kinds, strict=True) if kind == name]) for name in UNITS]
    values = [row.measured for row in means]
    score = sqrt(values[0] * values[1]) if values[0] and values[1] else None
    remark = "ours: by the list's rule from our phases; no entry of the list"
    return [*found, *means, _of_all("score, sqrt(bandwidth x metadata)", score, "1", found, remark)]


def _measured(phase: Phase, summaries: list[Summary]) -> Summary | None:
    metric = RATE if phase.kind == "bandwidth" else phase.metric
    found = [
        one
        for one in summaries
        if (one.benchmark, one.metric) == (phase.benchmark, metric)
        and one.is_headline
        and phase.parameters.items() <= one.parameters.items()
    ]
    return max(found, key=lambda one: one.ranks, default=None)


def _row(phase: Phase, one: Summary | None, summaries: list[Summary]) -> Row:
    factor, unit = UNITS[phase.kind]
    return Row(
        row=f"{phase.words}, {unit}",
        published=None,
        predicted=None,
        measured=(one.median or 0.0) / factor if one else None,
        unit=unit,
        limit=None,
        origin=one.origin if one else "published",
        size=0,
        ranks=one.ranks if one else 0,
        remark="; ".join(filter(None, [phase.remark, _memory(one, summaries)])) if one else "not measured here",
    )


def _memory(one: Summary, summaries: list[Summary]) -> str:
    """Say that a file was read from memory, as it is where one host writes and reads it."""
    of_case = (each for each in summaries if each.key == one.key and each.metric == RESIDENT)
    share = next((each.median or 0.0 for each in of_case), 0.0)
    return f"from memory: {units.share(share)} of the file was in the page cache" if share > TOLERATED else ""


def _mean(kind: str, parts: list[Row]) -> Row:
    values = [row.measured for row in parts if row.measured]
    complete = bool(values) and len(values) == len(parts)
    mean = exp(sum(map(log, values)) / len(values)) if complete else None
    unit = UNITS[kind][1]
    return _of_all(f"{kind}, geometric mean, {unit}", mean, unit, parts, "" if complete else "a phase lacks")


def _of_all(words: str, value: float | None, unit: str, parts: list[Row], remark: str) -> Row:
    return Row(
        row=words,
        published=None,
        predicted=None,
        measured=value,
        unit=unit,
        limit=None,
        origin=parts[0].origin,
        size=0,
        ranks=max(row.ranks for row in parts),
        remark=remark,
    )
