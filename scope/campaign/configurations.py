"""Runs of one point together: how long they took, raw and sanitised, and how many went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from scope.campaign.record import RunRecord
from scope.campaign.study import Point
from scope.samples.samples import Floats
from scope.statistics.figures import describe
from scope.strict import Strict


class Spread(Strict):
    """A feature over the runs of a point."""

    median: float
    low: float | None
    """Of the median's interval between order statistics: 95 % from six runs on, else the range."""
    high: float | None
    mean: float
    variation: float | None
    """Coefficient of variation, standard deviation over mean."""
    sanitised_mean: float
    """Of the runs up to the 99th percentile (NetFinity's view): of fewer than 100 runs, of all."""
    sanitised_variation: float | None
    maximum: float


class Configuration(Strict):
    """One point of a study."""

    point: Point
    runs: int
    """That ended well."""
    failed: int
    """That failed, were wrong or took too long."""
    crowded: bool
    """More processes than processors."""
    features: dict[str, Spread]
    """Of the runs that ended well: `elapsed_s` of the whole command, and what the profiles say."""


def configurations(records: Sequence[RunRecord]) -> list[Configuration]:
    """Return the points in the order of their factors."""
    groups: dict[str, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(record.point.key, []).append(record)
    found = [_configuration(group) for group in groups.values()]
    return sorted(found, key=lambda one: order(one.point))


def order(point: Point) -> tuple[tuple[bool, float, str], ...]:
    """Return what points are sorted by: numbers by size, words by letter."""
    return tuple(
        (isinstance(value, str), 0.0, value) if isinstance(value, str) else (False, float(value), "")
        for value in (*point.parameters.values(), point.placement, point.transport, point.ranks)
    )


def numbers(records: Iterable[RunRecord], name: str) -> Floats:
    """Return a feature of every run that has it."""
    known = (all_features(record) for record in records)
    return np.array([features[name] for features in known if name in features], dtype=np.float64)


def all_features(record: RunRecord) -> dict[str, float]:
    """Return what is known of a run: what the profiles say, and the clock's view of the command."""
    return {**record.features, "elapsed_s": record.elapsed_s}


def well(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the runs that ended well."""
    return [record for record in records if record.status == "ok"]


def _configuration(group: list[RunRecord]) -> Configuration:
    good = well(group)
    names = dict.fromkeys(name for record in good for name in all_features(record))
    return Configuration(
        point=group[0].point,
        runs=len(good),
        failed=len(group) - len(good),
        crowded=any(record.crowded for record in group),
        features={name: spread(numbers(good, name)) for name in names},
    )


def spread(values: Floats) -> Spread:
    """Describe at least one value; each is a launch of its own."""
    figures = describe([np.array([value]) for value in values])
    assert figures.median is not None
    assert figures.mean is not None
    assert figures.sanitised_mean is not None
    assert figures.maximum is not None
    return Spread(
        median=figures.median,
        low=figures.ci_low,
        high=figures.ci_high,
        mean=figures.mean,
        variation=figures.coefficient_of_variation,
        sanitised_mean=figures.sanitised_mean,
        sanitised_variation=figures.sanitised_coefficient_of_variation,
        maximum=figures.maximum,
    )
