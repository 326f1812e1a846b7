"""All runs of one configuration: their times, raw and sanitized, and how many failed."""

from collections.abc import Iterable, Sequence

import numpy as np

from hpcscope.grouping import grouped
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.campaign.study import Point
from hpcscope.samples.samples import Floats
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.figures import describe
from hpcscope.strict import Strict


class Spread(Strict):
    """Distribution of a feature over the runs of a configuration."""

    median: float
    low: float | None
    """Order-statistics interval for the median: 95 % with six or more runs, else the range."""
    high: float | None
    mean: float
    variation: float | None
    """Coefficient of variation: standard deviation / mean."""
    sanitized_mean: float
    """Mean of the runs up to the 99th percentile, as in NetFinity; of all runs if there are fewer than 100."""
    sanitized_variation: float | None
    maximum: float

    @property
    def estimate(self) -> Estimate:
        """The median with its interval."""
        return Estimate(value=self.median, low=self.low, high=self.high)


class Configuration(Strict):
    """One point of a study."""

    point: Point
    runs: int
    """Successful runs."""
    failed: int
    """Runs that failed, gave wrong results or timed out."""
    oversubscribed: bool
    """Whether there are more ranks than processors."""
    features: dict[str, Spread]
    """Features of the successful runs: `elapsed_s` of the whole command, and the profile features."""


def configurations(records: Sequence[RunRecord]) -> list[Configuration]:
    """Return the points in the order of their factors."""
    found = [_configuration(group) for group in grouped(records, lambda record: record.point.key).values()]
    return sorted(found, key=lambda configuration: order(configuration.point))


def order(point: Point) -> tuple[tuple[bool, float, str], ...]:
    """Return the sort key of a point: numbers by value, words alphabetically."""
    return tuple(
        (isinstance(value, str), 0.0, value) if isinstance(value, str) else (False, float(value), "")
        for value in (*point.parameters.values(), point.placement, point.transport, point.ranks)
    )


def numbers(records: Iterable[RunRecord], name: str) -> Floats:
    """Return the values of a feature in all runs that have it."""
    known = (all_features(record) for record in records)
    return np.array([features[name] for features in known if name in features], dtype=np.float64)


def all_features(record: RunRecord) -> dict[str, float]:
    """Return the features of a run: profile features, and the elapsed time of the command."""
    return {**record.features, "elapsed_s": record.elapsed_s}


def well(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the successful runs."""
    return [record for record in records if record.status == "ok"]


def _configuration(group: list[RunRecord]) -> Configuration:
    good = well(group)
    names = dict.fromkeys(name for record in good for name in all_features(record))
    return Configuration(
        point=group[0].point,
        runs=len(good),
        failed=len(group) - len(good),
        oversubscribed=any(record.oversubscribed for record in group),
        features={name: spread(numbers(good, name)) for name in names},
    )


def spread(values: Floats) -> Spread:
    """Return the distribution of one or more values, each from an independent launch."""
    figures = describe([np.array([value]) for value in values])
    assert figures.median is not None
    assert figures.mean is not None
    assert figures.sanitized_mean is not None
    assert figures.maximum is not None
    return Spread(
        median=figures.median,
        low=figures.ci_low,
        high=figures.ci_high,
        mean=figures.mean,
        variation=figures.coefficient_of_variation,
        sanitized_mean=figures.sanitized_mean,
        sanitized_variation=figures.sanitized_coefficient_of_variation,
        maximum=figures.maximum,
    )
