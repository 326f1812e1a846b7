"""The data of a fit: times over a swept parameter, rank counts or both, with all else fixed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.ranks import GROUP, in_groups
from hpcscope.grouping import grouped
from hpcscope.models.fitting.fit import FitPoint, NotFitted, Variable
from hpcscope.plan.case import Case
from hpcscope.samples.samples import Floats
from hpcscope.statistics.figures import LAUNCHES_FOR_INTERVAL
from hpcscope.statistics.summary import Summary

Swept = Literal["message_bytes", "vector_length", "intensity"]
"""Parameters of benchmarks over which models are fitted."""
TOLERANCE = 0.02
"""Model errors below this fraction of the time are tolerated: no machine is exactly a straight line."""
UNKNOWN_NOISE = 0.05
"""Relative noise assumed for a point with too few measurements to estimate it."""


@dataclass(frozen=True, eq=False)
class Curve:
    """The median times of one metric over one variable; all arrays have the shape (points,), times in seconds."""

    subject: Case
    metric: str
    definition: str
    variable: Variable
    swept: Floats
    """The parameter that varies: bytes of a message, elements of a vector, operations per memory reference."""
    ranks: Floats
    flops: Floats
    """Floating point operations of each point, over all ranks; 0 if none were declared."""
    time_s: Floats
    """Median times, without the factor that all points of a launch share if they share launches."""
    measured_s: Floats
    """The uncorrected medians."""
    low_s: Floats
    high_s: Floats
    sigma_s: Floats
    """Standard error of each time: its own and the curve's typical noise in equal parts, and `TOLERANCE`."""
    launches_s: Floats | None
    """Medians of each launch, shape (points, launches); None unless all points have equally many, six or more."""
    beside: dict[str, Curve] = field(default_factory=dict)
    """Other metrics of the same cases, by name; for observed times only."""

    @property
    def x(self) -> Floats:
        """The variable; the message size if there are two variables."""
        return self.ranks if self.variable == "ranks" else self.swept

    @property
    def message_bytes(self) -> Floats:
        """The message sizes, for a curve over message sizes."""
        return self.swept

    def points(self, fitted_s: Floats) -> list[FitPoint]:
        """Compare fitted values with measured ones."""
        two = self.variable == "message_bytes_and_ranks"
        return [
            FitPoint(
                x=float(self.x[i]),
                measured=float(self.measured_s[i]),
                measured_low=float(self.low_s[i]),
                measured_high=float(self.high_s[i]),
                fitted=float(fitted_s[i]),
                ranks=int(self.ranks[i]) if two else None,
            )
            for i in range(self.x.size)
        ]

    def not_fitted(self, model: str, reason: str) -> NotFitted:
        """Return why a model was not tried on this curve."""
        return NotFitted(
            model=model,
            subject=self.subject,
            metric=self.metric,
            definition=self.definition,
            variable=self.variable,
            reason=reason,
        )


def curves(summaries: Sequence[Summary], catalog: Catalog) -> list[Curve]:
    """Return every curve of valid times under their headline definition.

    Curves over message sizes (vector lengths, intensities) exist for every case that has them; curves over rank
    counts, and over both, for joint operations of all ranks (definition `global`). They are followed by curves
    over message sizes of times that a benchmark observed itself, each with the other metrics of the same cases.
    """
    headlines = [s for s in summaries if s.primary and s.valid and s.unit == "s"]
    times = [s for s in headlines if s.definition != "observed"]
    # An empty collective, or one on a single rank, is often no operation at all: models do not use it.
    times = [s for s in times if s.median and not (s.definition == "global" and _is_nothing(s))]
    # With groups, more ranks mean more groups, which the algorithm of a collective does not explain.
    together = [s for s in times if s.definition == "global" and not in_groups(s.parameters)]
    over: list[tuple[Variable, list[list[Summary]]]] = [(name, _over(times, name)) for name in get_args(Swept)]
    over += [
        ("ranks", [group for group in grouped(together, _without_ranks).values() if _varies(group, _ranks)]),
        (
            "message_bytes_and_ranks",
            [group for group in _over(together, "message_bytes", and_ranks=True) if _varies(group, _ranks)],
        ),
    ]
    found = [_curve(group, variable, catalog) for variable, groups in over for group in groups]
    return found + _observed(headlines, catalog)


def _observed(headlines: list[Summary], catalog: Catalog) -> list[Curve]:
    """Return the curves of observed times over message sizes, with other metrics of the same cases."""
    observed = {(s.benchmark, s.metric) for s in headlines if s.definition == "observed"}
    of_them = [s for s in headlines if s.benchmark in {benchmark for benchmark, _ in observed}]
    cases: dict[tuple[object, ...], list[Curve]] = {}
    for group in _over([s for s in of_them if s.median is not None], "message_bytes"):
        cases.setdefault(_case_key(group[0], "message_bytes"), []).append(_curve(group, "message_bytes", catalog))
    return [
        replace(curve, beside={other.metric: other for other in same if other is not curve})
        for same in cases.values()
        for curve in same
        if curve.definition == "observed"
    ]


def _over(summaries: list[Summary], name: Swept, and_ranks: bool = False) -> list[list[Summary]]:
    """Group summaries that have a parameter by everything else (except the ranks, if they vary too)."""

    def key(summary: Summary) -> tuple[object, ...]:
        return (*_case_key(summary, name, and_ranks), summary.metric, summary.definition)

    groups = grouped((s for s in summaries if name in s.parameters), key)
    return [group for group in groups.values() if _varies(group, lambda s: _value(s, name))]


def _without_ranks(summary: Summary) -> tuple[object, ...]:
    return (*_case_key(summary, None, and_ranks=True), summary.metric, summary.definition)


def _case_key(summary: Summary, name: Swept | None, and_ranks: bool = False) -> tuple[object, ...]:
    """Return the common part of all points of a curve over a parameter (and over the ranks)."""
    parameters = tuple(sorted((k, str(v)) for k, v in summary.parameters.items() if k != name))
    ranks = None if and_ranks else summary.ranks
    return (summary.benchmark, parameters, ranks, summary.transport, summary.placement, summary.origin)


def _is_nothing(summary: Summary) -> bool:
    alone = 1 in (summary.ranks, summary.parameters.get(GROUP))
    return alone or summary.parameters.get("message_bytes") == 0


def _value(summary: Summary, name: str) -> float:
    return float(summary.parameters.get(name, 0))


def _ranks(summary: Summary) -> float:
    return summary.ranks


def _varies(group: list[Summary], variable: Callable[[Summary], float]) -> bool:
    return len({variable(summary) for summary in group}) > 1


def _curve(group: list[Summary], variable: Variable, catalog: Catalog) -> Curve:
    swept = "message_bytes" if variable in ("ranks", "message_bytes_and_ranks") else variable
    group = sorted(group, key=lambda s: (_value(s, swept), s.ranks))
    first = group[0]
    left_out = () if variable == "ranks" else (swept,)
    medians = np.array([s.median for s in group], dtype=np.float64)
    times, noise = medians, np.array([relative_noise(s) for s in group])
    shared = _shared_launches(group)
    if shared is not None and (shared > 0).all():
        times, noise = _centred(shared)
    typical = float(np.median(noise**2))
    return Curve(
        subject=first.without(catalog, *left_out, ranks=max(s.ranks for s in group)),
        metric=first.metric,
        definition=first.definition,
        variable=variable,
        swept=np.array([_value(s, swept) for s in group]),
        ranks=np.array([s.ranks for s in group], dtype=np.float64),
        flops=np.array([s.work.flops if s.work else 0.0 for s in group]),
        time_s=times,
        measured_s=medians,
        low_s=np.array([s.median if s.ci_low is None else s.ci_low for s in group], dtype=np.float64),
        high_s=np.array([s.median if s.ci_high is None else s.ci_high for s in group], dtype=np.float64),
        sigma_s=np.abs(times) * np.sqrt((noise**2 + typical) / 2 + TOLERANCE**2),
        launches_s=shared if shared is not None else _launches_in_turn(group),
    )


def relative_noise(summary: Summary) -> float:
    """Return the standard error of the logarithm of a median: from the launches, else from its interval."""
    medians = np.array(summary.launch_medians)
    if summary.interval_basis == "launches" and medians.size > 1 and (medians > 0).all():
        # The variance of the median of normal values is pi/2 times the variance of their mean.
        return float(np.log(medians).std(ddof=1)) * float(np.sqrt(np.pi / 2 / medians.size))
    if summary.relative_interval is not None:
        return float(np.log1p(summary.relative_interval)) / 1.96  # the ends of a wide one are this factor away
    return UNKNOWN_NOISE


def _shared_launches(group: list[Summary]) -> Floats | None:
    """Return the medians of the launches that measured all points; None with fewer than six."""
    each = [s.per_launch.launches for s in group]
    shared = sorted(set[int]().union(*each).intersection(*each))
    if len(shared) < LAUNCHES_FOR_INTERVAL:
        return None
    return np.array([[launches[number] for number in shared] for launches in each], dtype=np.float64)


def _centred(launches_s: Floats) -> tuple[Floats, Floats]:
    """Return time and relative standard error of each point, without the factor that a launch's points share.

    A launch that is slower throughout says nothing about the shape of the curve. Its factor is the median ratio of
    its points to their typical times, which costs one degree of freedom per launch.
    """
    logs = np.log(launches_s)
    points, launches = logs.shape
    factor = np.median(logs - np.median(logs, axis=1, keepdims=True), axis=0)
    rest = logs - (factor - np.median(factor))
    spread = rest.std(axis=1, ddof=1) * (points / max(points - 1, 1)) ** 0.5
    return np.exp(np.median(rest, axis=1)), spread * float(np.sqrt(np.pi / 2 / launches))


def _launches_in_turn(group: list[Summary]) -> Floats | None:
    """Return the medians of launches on different rank counts, in launch order; None with fewer than six."""
    counts = {len(s.launch_medians) for s in group}
    if len(counts) != 1 or counts.pop() < LAUNCHES_FOR_INTERVAL:
        return None
    return np.array([s.launch_medians for s in group], dtype=np.float64)
