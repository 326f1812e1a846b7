"""Predictions of algorithms, and how wrong they are.

The phase formulas are evaluated with what the lower levels and one process say. Nothing of a run on several
processes enters: messages cost what the ping-pong says, collectives what was measured of them, computation what
one process takes for a block of that size. Each run on several processes is therefore a test.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import scope.models.prediction.costs
from scope.errors import UsageError
from scope.machine.machine import Machine
from scope.models.fit import Bounds, PredictedPoint, Prediction
from scope.models.fitting.draws import DRAWS, bounds
from scope.models.fitting.oversubscription import crowded
from scope.models.prediction.costs.steps import Collective, Costs, Messages, Phase, Problem, Work
from scope.models.prediction.measured_costs import LowerLevels, NotMeasuredError
from scope.models.prediction.one_process import OneProcess
from scope.models.scaling.speedup import SIZES, is_total, size_of
from scope.samples.records import LaunchRecord
from scope.samples.samples import Floats
from scope.statistics.summary import Case, Summary

COMMUNICATION: tuple[Phase, ...] = ("distribute", "exchange", "collect")


@cache
def all_costs() -> dict[str, Costs]:
    """Return the costs of every algorithm by its benchmark, by walking the package."""
    modules = [
        importlib.import_module(f"scope.models.prediction.costs.{info.name}")
        for info in pkgutil.iter_modules(scope.models.prediction.costs.__path__)
    ]
    found: list[Costs] = [module.COSTS for module in modules if hasattr(module, "COSTS")]
    return {one.benchmark: one for one in found}


@dataclass(frozen=True)
class Seconds:
    """What the formulas say, each of the shape (1 + draws,)."""

    phases_s: dict[Phase, Floats]
    hidden_s: Floats
    """Messages that go on behind the computation, as far as that lasts."""
    names: tuple[str, ...]
    """Where the figures come from."""
    beyond: tuple[str, ...]

    @property
    def compute_s(self) -> Floats:
        """Of computation."""
        return self.phases_s["compute"]

    @property
    def communicate_s(self) -> Floats:
        """What is seen of communication."""
        shown = sum((self.phases_s[phase] for phase in COMMUNICATION), np.zeros(1 + DRAWS))
        return np.asarray(shown + np.maximum(self.hidden_s - self.compute_s, 0.0), dtype=np.float64)

    @property
    def total_s(self) -> Floats:
        """Of everything."""
        return np.asarray(self.phases_s["initialise"] + self.compute_s + self.communicate_s, dtype=np.float64)


class Predictor:
    """One algorithm over one transport, with the parameters that a run gives."""

    def __init__(
        self,
        costs: Costs,
        summaries: list[Summary],
        machine: Machine,
        launches: list[LaunchRecord],
        transport: str = "default",
    ) -> None:
        self._costs = costs
        self._below = LowerLevels(summaries, machine, launches, transport)
        self._one = OneProcess(costs, summaries)

    def seconds(self, problem: Problem, outside: bool | None = None) -> Seconds:
        """Evaluate the formulas; raises NotMeasuredError where the run lacks a parameter.

        `outside`: whether messages go between hosts; by default they do where the processes outnumber the
        processors of one host and such a path was measured.
        """
        if outside is None:
            outside = self._below.between_hosts(problem.ranks)
        phases: dict[Phase, Floats] = defaultdict(lambda: np.zeros(1 + DRAWS))
        hidden = np.zeros(1 + DRAWS)
        names: list[str] = []
        beyond: list[str] = []
        for step in self._costs.steps(problem):
            if isinstance(step, Work):
                time_s, far = self._one.time(step, problem)
                name = f"{self._costs.benchmark} on one process"
            elif isinstance(step, Messages):
                if step.count <= 0:
                    continue
                time_s, name, far = self._below.messages(step, outside)
            else:
                time_s, name, far = self._collective(step, outside)
            if isinstance(step, Messages) and step.hidden:
                hidden = hidden + time_s
            else:
                phases[step.phase] = phases[step.phase] + time_s
            names.append(name)
            beyond.append(far)
        return Seconds(phases, hidden, _once(names), _once(beyond))

    def point(self, problem: Problem, outside: bool | None = None) -> PredictedPoint:
        """Return the prediction of one case; raises NotMeasuredError or UsageError for what cannot be."""
        if reason := self._costs.refuses(problem):
            raise UsageError(f"{self._costs.benchmark}: {reason}")
        seconds = self.seconds(problem, outside)
        one = self.seconds(replace(problem, ranks=1, parameters=problem.parameters | {"rows": 0}), outside=False)
        return PredictedPoint(
            size=problem.size,
            ranks=problem.ranks,
            rows=int(problem.parameters.get("rows", 0)),
            compute_s=bounds(seconds.compute_s),
            communicate_s=bounds(seconds.communicate_s),
            total_s=bounds(seconds.total_s),
            speedup=bounds(one.total_s / seconds.total_s),
            role="predicted",
            beyond=[
                *_once([self._below.beyond_a_host(problem.ranks) if outside is None else ""]),
                *seconds.beyond,
            ],
        )

    def _collective(self, step: Collective, outside: bool) -> tuple[Floats, str, str]:
        return self._below.collective(step, outside)


def predictions(summaries: list[Summary], machine: Machine, launches: list[LaunchRecord]) -> list[Prediction]:
    """Predict every algorithm at every point that was measured, and hold the two against each other."""
    groups: dict[tuple[object, ...], list[Summary]] = defaultdict(list)
    for one in summaries:
        if is_total(one) and one.benchmark in all_costs() and one.origin == "measured":
            groups[(one.benchmark, *_given(one), one.transport)].append(one)
    several = [groups[key] for key in sorted(groups, key=str) if any(s.ranks > 1 for s in groups[key])]
    return [_prediction(group, summaries, machine, launches) for group in several]


def _given(summary: Summary) -> tuple[tuple[str, object], ...]:
    return tuple(sorted((k, v) for k, v in summary.parameters.items() if k not in (*SIZES, "rows")))


def _prediction(
    group: list[Summary], summaries: list[Summary], machine: Machine, launches: list[LaunchRecord]
) -> Prediction:
    first = group[0]
    predictor = Predictor(all_costs()[first.benchmark], summaries, machine, launches, first.transport)
    crowds = crowded(machine, launches)
    points: list[PredictedPoint] = []
    names: list[str] = []
    reasons: list[str] = []
    for one in sorted(group, key=lambda s: (size_of(s.parameters) or 0, s.ranks)):
        problem = problem_of(one)
        outside = _apart(one, launches)
        try:
            point = predictor.point(problem, outside)
            names += predictor.seconds(problem, outside).names
        except (NotMeasuredError, UsageError) as error:
            reasons.append(str(error))
            continue
        points.append(_beside(point, one, summaries, (one.ranks, one.transport, one.placement) in crowds))
    errors = [abs(p.error) for p in points if p.error is not None and not p.oversubscribed]
    return Prediction(
        subject=Case(
            benchmark=first.benchmark,
            parameters={k: v for k, v in first.parameters.items() if k not in (*SIZES, "rows")},
            ranks=max(s.ranks for s in group),
            transport=first.transport,
            placement=first.placement,
        ),
        source=all_costs()[first.benchmark].source,
        parameters_from=list(_once(names)),
        points=points,
        median_error=float(np.median(errors)) if errors else None,
        reason="; ".join(_once(reasons)),
    )


def problem_of(summary: Summary) -> Problem:
    """Return what a measured case computes."""
    parameters = {name: value for name, value in summary.parameters.items() if name not in SIZES}
    return Problem(size_of(summary.parameters) or 0, summary.ranks, parameters)


def _apart(summary: Summary, launches: list[LaunchRecord]) -> bool:
    """Say whether the processes of a measured case stood on several hosts."""
    place = (summary.ranks, summary.transport, summary.placement)
    return any(
        len({p.host for p in launch.processes}) > 1
        for launch in launches
        if (launch.ranks, launch.transport, launch.placement) == place
    )


def _beside(point: PredictedPoint, total: Summary, summaries: list[Summary], over: bool) -> PredictedPoint:
    """Put what was measured beside what is predicted."""
    phases = {
        s.metric: s.median
        for s in summaries
        if s.metric in ("compute_s", "communicate_s")
        and (s.benchmark, s.parameters, s.ranks, s.transport, s.placement, s.origin)
        == (total.benchmark, total.parameters, total.ranks, total.transport, total.placement, total.origin)
    }
    is_input = total.ranks == 1
    return point.model_copy(
        update={
            "role": "input" if is_input else "validated",
            "measured_compute_s": phases.get("compute_s"),
            "measured_communicate_s": phases.get("communicate_s"),
            "measured_total_s": Bounds(value=total.median or 0.0, low=total.ci_low, high=total.ci_high),
            "error": None if is_input else point.total_s.value / (total.median or 1.0) - 1,
            "oversubscribed": over,
        }
    )


def _once(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in words if word))
