"""The rates at which one process does the phases of an algorithm, over the sizes at which it was measured."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scope.models.fitting.draws import DRAWS, draw
from scope.models.prediction.costs.steps import Costs, Phase, Problem, Work
from scope.models.prediction.measured_costs import NotMeasuredError
from scope.models.scaling.speedup import NOTHING_ALONE, SIZES, size_of
from scope.samples.records import Value
from scope.samples.samples import Floats
from scope.statistics.summary import Summary

SEED = 13

Rates = tuple[Floats, Floats]
"""Sizes, shape (points,), and seconds for each unit of work there, shape (points, 1 + draws)."""


class OneProcess:
    """Phase times of an algorithm's runs on one process."""

    def __init__(self, costs: Costs, summaries: list[Summary], origin: str = "measured") -> None:
        self._costs = costs
        self._random = np.random.default_rng(SEED)
        self._summaries = [
            s
            for s in summaries
            if s.benchmark == costs.benchmark
            and s.ranks == 1
            and s.primary
            and s.valid
            and s.origin == origin
            and s.median is not None
        ]
        self._rates: dict[tuple[object, ...], Rates | None] = {}

    def sizes(self, problem: Problem) -> list[int]:
        """Return the sizes at which one process was measured."""
        rates = self._of(problem, "compute")
        return [] if rates is None else [int(size) for size in rates[0]]

    def time(self, work: Work, problem: Problem) -> tuple[Floats, str]:
        """Return the draws of the time of some work in s, and what of it is extrapolated.

        Rates are interpolated over the logarithm of the size, and kept beyond the smallest and the largest.
        """
        changed = Problem(problem.size, problem.ranks, problem.parameters | work.of)
        phase = work.rate_of or work.phase
        rates = self._of(changed, phase) or (self._of(problem, phase) if work.of else None)
        if rates is None:
            if phase != "compute":
                return np.zeros(1 + DRAWS), ""
            raise NotMeasuredError(
                f"{self._costs.benchmark} with {_words(changed)} was not measured on one process: "
                "what its computation costs is not known"
            )
        sizes, per_unit_s = rates
        if not sizes[0] <= work.like <= sizes[-1]:
            beyond = f"{work.phase}: rates at sizes outside {sizes[0]:.0f} to {sizes[-1]:.0f}"
        else:
            beyond = ""
        return work.units * _interpolated(np.log(sizes), per_unit_s, float(np.log(max(work.like, 1.0)))), beyond

    def _of(self, problem: Problem, phase: Phase) -> Rates | None:
        wanted = {name: value for name, value in problem.parameters.items() if name not in NOTHING_ALONE}
        key = (phase, *sorted((name, str(value)) for name, value in wanted.items()))
        if key not in self._rates:
            self._rates[key] = self._measured(wanted, phase, lambda n: self._costs.units(phase, n, problem))
        return self._rates[key]

    def _measured(self, wanted: dict[str, Value], phase: Phase, units: Callable[[float], float]) -> Rates | None:
        by_size: dict[int, Summary] = {}
        for one in self._summaries:
            size = size_of(one.parameters)
            given = {name: value for name, value in one.parameters.items() if name not in (*SIZES, *NOTHING_ALONE)}
            if one.metric == f"{phase}_s" and given == wanted and size:
                by_size.setdefault(size, one)
        if not by_size:
            return None
        sizes = sorted(by_size)
        drawn = np.array([draw(by_size[size], self._random) / units(size) for size in sizes])
        return np.array(sizes, dtype=np.float64), drawn


def _interpolated(places: Floats, values: Floats, place: float) -> Floats:
    """Interpolate each column of `values` (points, draws) linearly; constant outside."""
    if places.size == 1:
        return np.asarray(values[0], dtype=np.float64)
    right = int(np.clip(np.searchsorted(places, place), 1, places.size - 1))
    share = float(np.clip((place - places[right - 1]) / (places[right] - places[right - 1]), 0.0, 1.0))
    return np.asarray(values[right - 1] * (1 - share) + values[right] * share, dtype=np.float64)


def _words(problem: Problem) -> str:
    return " ".join(
        f"{name}={value}" for name, value in sorted(problem.parameters.items()) if name not in NOTHING_ALONE
    )
