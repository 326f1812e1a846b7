"""The rates of the phases of an algorithm on one rank, over the sizes at which they were measured."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from hpcscope.catalog.benchmark import Phase, Value
from hpcscope.models.fitting.draws import draw
from hpcscope.models.measurements import Measurements
from hpcscope.models.prediction.costs.steps import Costs, LocalWork, Problem
from hpcscope.models.prediction.measured_costs import NotMeasuredError
from hpcscope.samples.records import Origin
from hpcscope.samples.samples import Floats
from hpcscope.statistics.bootstrap import DRAWS
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.summary import Summary

SEED = 13

RAN: tuple[Origin, ...] = ("measured", "emulated")
"""The origins of real execution times: the processors of an emulated cluster are real."""

Rates = tuple[Floats, Floats]
"""Sizes, shape (points,), and seconds per unit of work at each size, shape (points, 1 + draws)."""


class OneProcess:
    """Phase times of an algorithm's runs on one rank."""

    def __init__(self, costs: Costs, measurements: Measurements) -> None:
        self._costs = costs
        self._catalog = measurements.catalog
        self._random = np.random.default_rng(SEED)
        self._summaries = [
            s
            for s in measurements.summaries
            if (s.benchmark, s.ranks) == (costs.benchmark, 1) and s.origin in RAN and s.is_headline
        ]
        self._rates: dict[tuple[object, ...], Rates | None] = {}

    def total(self, problem: Problem) -> Estimate | None:
        """Return the total time of the problem on one rank; None if it was not measured."""
        metric, wanted = self._catalog.time_metric(self._costs.benchmark), self._effective(problem.parameters)
        found = (
            summary.estimate
            for summary in self._summaries
            if summary.metric == metric
            and self._catalog.size(summary.benchmark, summary.parameters) == problem.size
            and self._effective(summary.parameters) == wanted
        )
        return next(found, None)

    def time(self, work: LocalWork, problem: Problem) -> tuple[Floats, str]:
        """Return the draws of the time of some work in s, and the extrapolated part.

        Rates are interpolated over the logarithm of the size, and kept beyond the smallest and the largest.
        """
        changed = replace(problem, parameters=problem.parameters | work.of)
        phase = work.rate_of or work.phase
        rates, beyond = self._of(changed, phase), ""
        if rates is None and work.of:
            rates, beyond = self._of(problem, phase), f"{self._words(changed)} was not measured on one rank"
        if rates is None:
            if phase != "compute":
                return np.zeros(1 + DRAWS), ""
            raise NotMeasuredError(
                f"{self._costs.benchmark} with {self._words(changed)} was not measured on one rank: "
                "the cost of the computation is not known"
            )
        sizes, per_unit_s = rates
        if not sizes[0] <= work.like <= sizes[-1]:
            beyond = beyond or f"{work.phase}: rates are known only at sizes {sizes[0]:.0f} to {sizes[-1]:.0f}"
        return work.units * interpolated(np.log(sizes), per_unit_s, float(np.log(max(work.like, 1.0)))), beyond

    def counts(self, problem: Problem) -> dict[str, float]:
        """Return the metrics of role `count` of the problem, interpolated over the logarithm of the size."""
        wanted = self._effective(problem.parameters)
        found: dict[str, dict[int, float]] = defaultdict(dict)
        for summary in self._summaries:
            declared = self._catalog[summary.benchmark].metric.get(summary.metric)
            size = self._catalog.size(summary.benchmark, summary.parameters)
            if declared is None or declared.role != "count" or summary.median is None or not size:
                continue
            if self._effective(summary.parameters) == wanted:
                found[summary.metric].setdefault(size, summary.median)
        place = float(np.log(max(problem.size, 1)))
        return {
            metric: float(np.interp(place, np.log(sorted(by_size)), [by_size[size] for size in sorted(by_size)]))
            for metric, by_size in found.items()
        }

    def _of(self, problem: Problem, phase: Phase) -> Rates | None:
        wanted = self._effective(problem.parameters)
        key = (phase, *sorted((name, str(value)) for name, value in wanted.items()))
        if key not in self._rates:
            self._rates[key] = self._measured(wanted, phase, lambda n: self._costs.units(phase, n, problem))
        return self._rates[key]

    def _measured(self, wanted: dict[str, Value], phase: Phase, units: Callable[[float], float]) -> Rates | None:
        metric = self._metric(phase)
        by_size: dict[int, Summary] = {}
        for summary in self._summaries:
            size = self._catalog.size(summary.benchmark, summary.parameters)
            if summary.metric == metric and self._effective(summary.parameters) == wanted and size:
                by_size.setdefault(size, summary)
        if not by_size:
            return None
        sizes = sorted(by_size)
        drawn = np.array([draw(by_size[size], self._random) / units(size) for size in sizes])
        return np.array(sizes, dtype=np.float64), drawn

    def _metric(self, phase: Phase) -> str | None:
        """Return the metric of a phase; a program that does not separate phases only computes on one rank."""
        name = f"{phase}_s"
        if phase == "compute" and name not in self._catalog[self._costs.benchmark].metric:
            return self._catalog.time_metric(self._costs.benchmark)
        return name

    def _effective(self, parameters: Mapping[str, Value]) -> dict[str, Value]:
        """Return the parameters, except the size, that have an effect on one rank."""
        without = {*self._catalog.of_role(self._costs.benchmark, parameters, "size", "parallel")}
        return {name: value for name, value in parameters.items() if name not in without}

    def _words(self, problem: Problem) -> str:
        return " ".join(f"{name}={value}" for name, value in sorted(self._effective(problem.parameters).items()))


def interpolated(places: Floats, values: Floats, place: float) -> Floats:
    """Interpolate each column of `values` (points, draws) linearly; constant outside."""
    if places.size == 1:
        return np.asarray(values[0], dtype=np.float64)
    right = int(np.clip(np.searchsorted(places, place), 1, places.size - 1))
    share = float(np.clip((place - places[right - 1]) / (places[right] - places[right - 1]), 0.0, 1.0))
    return np.asarray(values[right - 1] * (1 - share) + values[right] * share, dtype=np.float64)
