"""What a source says of its values, held against runs: printed, predicted, ours, and whether it holds."""

from __future__ import annotations

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
from hpcscope.statistics.order_statistics import median_interval
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
    """Everything that statements are held against."""

    readings: Mapping[str, StatementReading]
    """By name."""
    places: Mapping[str, ObservedPlace]
    """By name; a single run has the empty name."""
    absent: Mapping[str, str]
    """Why a place was not measured, by its name."""
    _found: dict[str, ReadValue] = field(default_factory=dict, init=False)

    def read(self, name: str) -> ReadValue:
        """Return what is known of a value by its name; UsageError for an unknown one."""
        if name not in self.readings:
            raise UsageError(f"{name!r}: unknown value; must be one of: {', '.join(self.readings)}")
        if name not in self._found:
            self._found[name] = self._read(name)
        return self._found[name]

    def _read(self, name: str) -> ReadValue:
        one = self.readings[name]
        found = _combined(one.read, [*map(self.read, one.of)]) if one.of else self._off_run(one)
        factor = one.times / (found.ranks if one.per_rank and found.measured else 1)
        return replace(
            found,
            measured=found.measured.scaled(factor) if found.measured else None,
            predicted=found.predicted * factor if found.predicted is not None else None,
        )

    def _off_run(self, one: StatementReading) -> ReadValue:
        place = self.places.get(one.place)
        if place is None:
            return ReadValue(ranks=one.ranks, why_not=self.absent.get(one.place, ""))
        if one.read in FRAMES:
            return replace(place.read(one), origins=frozenset(["simulated"]))
        return replace(place.read(one), places=frozenset([one.place]), origins=frozenset([place.origin]))

    def quotient(self, name: str, over: str) -> Estimate | None:
        """Return a value, over another one where that has a name, with the range of what launches say.

        None where either was not measured, or is 0 in a launch of a few, or where both are not of the same size
        and number of ranks.
        """
        above = self.read(name)
        if not over or above.measured is None:
            return _known(_range(above.measured)) if above.measured else None
        below = self.read(over)
        alike = all(above.taken[each] == below.taken[each] for each in above.taken.keys() & below.taken.keys())
        if below.measured is None or not below.measured.estimate.value or not alike:
            return None
        return _known(_quotient(above.measured, below.measured, len(above.places | below.places) == 1))

    def incomparable(self, one: Statement) -> str:
        """Return why a value is not that of the network: its hosts wait for processors, or a link lacks its rate.

        Empty where it is.
        """
        for name in one.names:
            for place in (self.places[each] for each in sorted(self.read(name).places)):
                if place.processors is not None and place.processors < one.processors:
                    shared = f"the hosts of the lab share {place.processors} processors"
                    return f"not judged: {shared}, and this needs {one.processors}"
                if place.unfaithful:
                    return f"not judged: {place.unfaithful}"
        return ""


def compared(statements: Iterable[Statement], known: KnownValues) -> list[ComparedValue]:
    """Return what each statement prints beside what is known, and whether it holds."""
    return [_compared(one, known) for one in statements]


def _compared(one: Statement, known: KnownValues) -> ComparedValue:
    found, predicted = known.quotient(one.of, one.over), _predicted(one, known)
    values = [known.read(name) for name in one.names]
    most = max(values, key=lambda value: value.ranks)
    printed = [f"published at {name} = {value}" for name, value in one.published_at.items()]
    other = known.incomparable(one) if found else ""
    if found:
        about = [each for value in values for each in value.remarks]
    else:
        why = next((value.why_not for value in values if value.why_not), "")
        about = [f"not measured here: {why}" if why else "not measured here"]
    return ComparedValue(
        row=one.title,
        published=one.printed,
        predicted=predicted,
        measured=found.value if found else None,
        unit=one.kind,
        limit=_limit(one, known),
        origin=_origin(found, predicted, frozenset().union(*(value.origins for value in values))),
        size=most.size,
        ranks=most.ranks,
        remark="; ".join(filter(None, dict.fromkeys([one.remark, *printed, *about, other]))),
        where=one.where,
        says=says(one),
        relation=relation(one),
        holds=_judged(one, found, values[0].law) if found and not other else "",
    )


def _judged(one: Statement, found: Estimate, law: str) -> Holds:
    if one.law is None:
        return holds(found, one.bounds)
    return "yes" if law == one.law else "no" if law else "undecided"


def says(one: Statement) -> str:
    """Return what the source prints, in words."""
    if one.published is None:
        return one.says
    both = [each for each in (one.published, one.published_over) if each is not None]
    printed = [units.printed(each) if one.unit == "B" else units.quantity(each, one.unit) for each in both]
    text = " / ".join(printed)
    if len(printed) > 1 and one.printed is not None:
        text += f" = {units.digits(one.printed)}"
    return f"{text}; {one.says}" if one.says else text


def relation(one: Statement) -> str:
    """Return the relation that must hold, in words."""
    if one.law is not None:
        return f"{one.law} in the processes"
    if one.factor is not None:
        return f"within a factor of {one.factor:g}"
    low, high = (units.quantity(each, one.kind) if each is not None else "" for each in one.bounds)
    if low and high:
        return f"{low} to {high}"
    return f"above {low}" if low else f"below {high}" if high else ""


def holds(found: Estimate, bounds: tuple[float | None, float | None]) -> Holds:
    """Return whether a value lies between bounds: undecided where a bound lies within what launches say of it."""
    least, most = bounds
    if least is None and most is None:
        return ""

    def inside(value: float) -> bool:
        return (least is None or value > least) and (most is None or value < most)

    ends = [found.value, *(each for each in (found.low, found.high) if each is not None)]
    if any(map(isnan, ends)):
        return "undecided"
    if all(map(inside, ends)):
        return "yes"
    around = any(bound is not None and min(ends) <= bound <= max(ends) for bound in bounds)
    return "undecided" if around and min(ends) < max(ends) else "no"


def _predicted(one: Statement, known: KnownValues) -> float | None:
    """Return what is said to be predicted, else what the models of the run predict."""
    if isinstance(one.predicted, str):
        found = known.quotient(one.predicted, one.predicted_over)
        return found.value if found else None
    if one.predicted is not None:
        return one.predicted
    above, *below = (known.read(name).predicted for name in one.names)
    if above is None or not below:
        return above
    return above / below[0] if below[0] else None


def _limit(one: Statement, known: KnownValues) -> float | None:
    if not isinstance(one.limit, str):
        return one.limit
    found = known.quotient(one.limit, "")
    return found.value if found else None


def _origin(
    found: Estimate | None, predicted: float | None, origins: Collection[Origin]
) -> Origin | Literal["published"]:
    """Return the origin of a value: of parts of several that which was not measured on a real network."""
    if found is None:
        return "published" if predicted is None else "simulated"
    return next((each for each in ("emulated", "measured") if each in origins), "simulated")


def _combined(read: Read, parts: Sequence[ReadValue]) -> ReadValue:
    """Return parts combined, launch by launch where all are of one run; nothing where one lacks."""
    how = COMBINED[read]
    places = frozenset().union(*(part.places for part in parts))
    measured = [part.measured for part in parts if part.measured]
    return ReadValue(
        _of_launches(how, measured, len(places) == 1) if len(measured) == len(parts) else None,
        _of_values(how, [part.predicted for part in parts]),
        parts[0].size,
        parts[0].ranks,
        {name: value for part in parts for name, value in part.taken.items()},
        remarks=[each for part in parts for each in part.remarks],
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
    values = np.array([*launches.values()])
    interval = median_interval(values) if values.size >= LAUNCHES_FOR_INTERVAL else None
    ends = {"low": interval.low, "high": interval.high} if interval else {}
    return PerLaunch(Estimate(value=float(np.median(values)), **ends), launches)


def _of_values(how: Combination, parts: Sequence[float | None]) -> float | None:
    known = [each for each in parts if each is not None]
    found = how(known) if len(known) == len(parts) else NAN
    return None if isnan(found) else found


def _known(found: Estimate) -> Estimate | None:
    return None if isnan(found.value) else found


def _range(found: PerLaunch) -> Estimate:
    """Return a value with its interval where launches or a fit give one, else with the extremes of launches."""
    fitted = not found.launches and found.estimate.low is not None
    if fitted or len(found.launches) >= LAUNCHES_FOR_INTERVAL:
        return found.estimate
    each = found.launches.values() or [found.estimate.value]
    value = found.estimate.value
    return Estimate(value=value, low=min(value, *each), high=max(value, *each))


def _quotient(above: PerLaunch, below: PerLaunch, same_run: bool) -> Estimate:
    """Return a quotient: of launches that measured both, or of any two launches of different runs."""
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
