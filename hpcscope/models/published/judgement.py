"""Statements of a source compared with runs: values printed, predicted and measured, and whether they hold."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, prod
from typing import Literal

import numpy as np

from hpcscope import units
from hpcscope.errors import UsageError
from hpcscope.models.published.observed import FRAMES, ObservedPlace, ReadValue
from hpcscope.models.published.overview import ComparedValue, Holds
from hpcscope.models.published.statement import Read, Statement, StatementReading
from hpcscope.samples.records import Origin
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.figures import LAUNCHES_FOR_INTERVAL
from hpcscope.statistics.order_statistics import median_estimate
from hpcscope.statistics.ratio import PerLaunch, of_launches, ratio

NAN = float("nan")
Combination = Callable[[Sequence[float]], float]
COMBINED: Mapping[Read, Combination] = {
    "sum": sum,
    "difference": lambda each: each[0] - each[1],
    "product": prod,
    "quotient": lambda each: each[0] / each[1] if each[1] else NAN,
    "lost": lambda each: 1 - each[0] / each[1] if each[1] else NAN,
    "geometric_mean": lambda each: prod(each) ** (1 / len(each)) if min(each) > 0 else NAN,
    "smallest": min,
    "largest": max,
}


@dataclass(frozen=True)
class KnownValues:
    """All values that statements are compared with."""

    readings: Mapping[str, StatementReading]
    """Readings by name."""
    places: Mapping[str, ObservedPlace]
    """Places by name; a single run has the empty name."""
    absent: Mapping[str, str]
    """Why a place was not measured, by the name of the place."""
    _found: dict[str, ReadValue] = field(default_factory=dict, init=False)

    def read(self, name: str) -> ReadValue:
        """Return what is known about a value by its name; raises UsageError for an unknown name."""
        if name not in self.readings:
            raise UsageError(f"{name!r}: unknown value; must be one of: {', '.join(self.readings)}")
        if name not in self._found:
            self._found[name] = self._read(name)
        return self._found[name]

    def _read(self, name: str) -> ReadValue:
        reading = self.readings[name]
        value = _combined(reading.read, [*map(self.read, reading.of)]) if reading.of else self._off_run(reading)
        factor = reading.times / (value.ranks if reading.per_rank and value.measured else 1)
        return replace(
            value,
            measured=value.measured.scaled(factor) if value.measured else None,
            predicted=value.predicted * factor if value.predicted is not None else None,
        )

    def _off_run(self, reading: StatementReading) -> ReadValue:
        place = self.places.get(reading.place)
        if place is None:
            return ReadValue(ranks=reading.ranks, why_not=self.absent.get(reading.place, ""))
        if reading.read in FRAMES:
            return replace(place.read(reading), origins=frozenset(["simulated"]))
        return replace(place.read(reading), places=frozenset([reading.place]), origins=frozenset([place.origin]))

    def quotient(self, name: str, over: str) -> Estimate | None:
        """Return a value, divided by another one if `over` names it, with its range over the launches.

        None if either was not measured, or is 0 in one of a few launches, or if the two differ in size or number
        of ranks.
        """
        above = self.read(name)
        if not over or above.measured is None:
            return _known(_range(above.measured)) if above.measured else None
        below = self.read(over)
        alike = all(above.taken[each] == below.taken[each] for each in above.taken.keys() & below.taken.keys())
        if below.measured is None or not below.measured.estimate.value or not alike:
            return None
        return _known(_quotient(above.measured, below.measured, len(above.places | below.places) == 1))

    def incomparable(self, statement: Statement) -> str:
        """Return why a value does not describe the network; empty if it does.

        Hosts wait for processors, a link misses its rate, or other programs took processors.
        """
        for name in statement.names:
            for place in (self.places[key] for key in sorted(self.read(name).places)):
                if place.processors is not None and place.processors < statement.processors:
                    shared = f"the hosts of the lab share {place.processors} processors"
                    return f"not judged: {shared}, and this statement needs {statement.processors} processors"
                if place.invalid:
                    return f"not judged: {place.invalid}"
        return ""


def compared(statements: Iterable[Statement], known: KnownValues) -> list[ComparedValue]:
    """Return what each statement prints, with what is known about it and whether it holds."""
    return [_compared(statement, known) for statement in statements]


def _compared(statement: Statement, known: KnownValues) -> ComparedValue:
    estimate, predicted = known.quotient(statement.of, statement.over), _predicted(statement, known)
    values = [known.read(name) for name in statement.names]
    most = max(values, key=lambda value: value.ranks)
    printed = [f"published at {name} = {value}" for name, value in statement.published_at.items()]
    other = known.incomparable(statement) if estimate and relation(statement) else ""
    if estimate:
        about = [remark for value in values for remark in value.remarks]
    else:
        why = next((value.why_not for value in values if value.why_not), "")
        about = [f"not measured here: {why}" if why else "not measured here"]
    return ComparedValue(
        row=statement.title,
        published=statement.printed,
        predicted=predicted,
        measured=estimate.value if estimate else None,
        unit=statement.kind,
        limit=_limit(statement, known),
        origin=_origin(estimate, predicted, frozenset().union(*(value.origins for value in values))),
        size=most.size,
        ranks=most.ranks,
        remark="; ".join(filter(None, dict.fromkeys([statement.remark, *printed, *about, other]))),
        where=statement.where,
        says=says(statement),
        relation=relation(statement),
        holds=_judged(statement, estimate, values[0].law) if estimate and not other else "",
        direction_only=statement.direction_only,
    )


def _judged(statement: Statement, estimate: Estimate, law: str) -> Holds:
    if statement.law is None:
        return holds(estimate, statement.bounds)
    return "yes" if law == statement.law else "no" if law else "undecided"


def says(statement: Statement) -> str:
    """Return what the source prints, in words."""
    if statement.published is None:
        return statement.says
    both = [bound for bound in (statement.published, statement.published_over) if bound is not None]
    printed = [
        units.printed(bound) if statement.unit == "B" else units.quantity(bound, statement.unit) for bound in both
    ]
    text = " / ".join(printed)
    if len(printed) > 1 and statement.printed is not None:
        text += f" = {units.digits(statement.printed)}"
    return f"{text}; {statement.says}" if statement.says else text


def relation(statement: Statement) -> str:
    """Return the relation that must hold, in words."""
    if statement.law is not None:
        return f"{statement.law} in the number of ranks"
    if statement.factor is not None:
        return f"within a factor of {statement.factor:g}"
    low, high = (units.quantity(bound, statement.kind) if bound is not None else "" for bound in statement.bounds)
    if low and high:
        return f"{low} to {high}"
    return f"above {low}" if low else f"below {high}" if high else ""


def holds(estimate: Estimate, bounds: tuple[float | None, float | None]) -> Holds:
    """Return whether a value is between bounds: undecided if a bound is inside its range over the launches."""
    least, most = bounds
    if least is None and most is None:
        return ""

    def inside(value: float) -> bool:
        return (least is None or value > least) and (most is None or value < most)

    ends = [estimate.value, *(end for end in (estimate.low, estimate.high) if end is not None)]
    if any(map(isnan, ends)):
        return "undecided"
    if all(map(inside, ends)):
        return "yes"
    around = any(bound is not None and min(ends) <= bound <= max(ends) for bound in bounds)
    return "undecided" if around and min(ends) < max(ends) else "no"


def _predicted(statement: Statement, known: KnownValues) -> float | None:
    """Return the prediction that the statement gives, else the prediction of the run's models."""
    if isinstance(statement.predicted, str):
        estimate = known.quotient(statement.predicted, statement.predicted_over)
        return estimate.value if estimate else None
    if statement.predicted is not None:
        return statement.predicted
    above, *below = (known.read(name).predicted for name in statement.names)
    if above is None or not below:
        return above
    return above / below[0] if below[0] else None


def _limit(statement: Statement, known: KnownValues) -> float | None:
    if not isinstance(statement.limit, str):
        return statement.limit
    estimate = known.quotient(statement.limit, "")
    return estimate.value if estimate else None


def _origin(
    estimate: Estimate | None, predicted: float | None, origins: Collection[Origin]
) -> Origin | Literal["published"]:
    """Return the origin of a value: emulated if any part is, else measured if any part is, else simulated."""
    if estimate is None:
        return "published" if predicted is None else "simulated"
    return next((each for each in ("emulated", "measured") if each in origins), "simulated")


def _combined(read: Read, parts: Sequence[ReadValue]) -> ReadValue:
    """Return the combined parts, launch by launch if all are of one run; no value if a part is missing."""
    how = COMBINED[read]
    places = frozenset().union(*(part.places for part in parts))
    measured = [part.measured for part in parts if part.measured]
    return ReadValue(
        _of_launches(how, measured, len(places) == 1) if len(measured) == len(parts) else None,
        _of_values(how, [part.predicted for part in parts]),
        parts[0].size,
        parts[0].ranks,
        {name: value for part in parts for name, value in part.taken.items()},
        remarks=[remark for part in parts for remark in part.remarks],
        why_not=next((part.why_not for part in parts if part.why_not), ""),
        places=places,
        origins=frozenset().union(*(part.origins for part in parts)),
    )


def _of_launches(how: Combination, parts: Sequence[PerLaunch], same_run: bool) -> PerLaunch | None:
    shared = set.intersection(*({*part.launches} for part in parts)) if same_run else set()
    launches = {launch: how([part.launches[launch] for part in parts]) for launch in sorted(shared)}
    if not launches:
        found = _of_values(how, [part.estimate.value for part in parts])
        return PerLaunch(Estimate(value=found)) if found is not None else None
    return PerLaunch(median_estimate(np.array([*launches.values()])), launches)


def _of_values(how: Combination, parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    found = how(known) if len(known) == len(parts) else NAN
    return None if isnan(found) else found


def _known(estimate: Estimate) -> Estimate | None:
    return None if isnan(estimate.value) else estimate


def _range(launch: PerLaunch) -> Estimate:
    """Return a value with its interval if launches or a fit give one, else with the extremes of launches."""
    fitted = not launch.launches and launch.estimate.low is not None
    if fitted or len(launch.launches) >= LAUNCHES_FOR_INTERVAL:
        return launch.estimate
    each = launch.launches.values() or [launch.estimate.value]
    value = launch.estimate.value
    return Estimate(value=value, low=min(value, *each), high=max(value, *each))


def _quotient(above: PerLaunch, below: PerLaunch, same_run: bool) -> Estimate:
    """Return a quotient, over the launches that measured both, or over any two launches of different runs."""
    each = of_launches(above, below) if same_run else np.array([])
    if each.size >= LAUNCHES_FOR_INTERVAL:
        return ratio(above, below)
    if each.size:
        return Estimate(value=float(np.median(each)), low=float(each.min()), high=float(each.max()))
    up, down = _range(above), _range(below)
    value = up.value / down.value
    if up.low is None or up.high is None or not down.low or not down.high:
        return Estimate(value=value)
    return Estimate(value=value, low=up.low / down.high, high=up.high / down.low)
