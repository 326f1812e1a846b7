"""What a source says of its figures, held against runs: printed, predicted, ours, and whether it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

import numpy as np

from scope import units
from scope.errors import UsageError
from scope.lab.fidelity import faithful
from scope.models.fitting.fit import Fit
from scope.models.ladder import limits
from scope.models.measurements import Measurements, shared_processors
from scope.models.published.reproduction import Holds, Row
from scope.models.published.statement import Reading, Statement
from scope.samples.records import Origin
from scope.statistics.estimate import Estimate
from scope.statistics.figures import LAUNCHES_FOR_INTERVAL
from scope.statistics.ratio import PerLaunch, of_launches, ratio
from scope.statistics.summary import Summary


@dataclass(frozen=True)
class Observed:
    """What a run gave at one place."""

    measurements: Measurements
    fits: list[Fit]
    link_bits_per_s: float | None = None

    @property
    def origin(self) -> Origin:
        """Where its figures come from."""
        return next((one.origin for one in self.measurements.summaries), "measured")

    @property
    def processors(self) -> int | None:
        """Of an emulated cluster: the processors that all its hosts share; None where that is no limit."""
        return shared_processors(self.measurements.machine) if self.origin == "emulated" else None

    @property
    def unfaithful(self) -> str:
        """Why its network is another one than the declared one; empty where it is not."""
        lab = self.measurements.machine.lab
        off = [link for link in lab.links if not faithful(link)] if lab else []
        if not off:
            return ""
        worst = max(off, key=lambda link: abs(link.deviation))
        return f"the {worst.link} of the lab carried {units.share(1 + worst.deviation)} of the declared rate"


@dataclass(frozen=True)
class Known:
    """Everything that statements are held against."""

    readings: Mapping[str, Reading]
    """By name."""
    places: Mapping[str, Observed]
    """By name; a single run has the empty name."""
    tables: Mapping[str, Row]
    """The rows of the experiment's own tables, by their words."""
    absent: Mapping[str, str]
    """Why a place was not measured, by its name."""

    def figure(self, name: str) -> PerLaunch | None:
        """Return a figure by its name; None where it was not measured. UsageError for an unknown name."""
        if name in self.tables:
            value = self.tables[name].measured
            return PerLaunch(Estimate(value=value)) if value is not None else None
        reading = self._reading(name)
        place = self.places.get(reading.place)
        found = _of_place(reading, place) if place else None
        return found.scaled(reading.times) if found else None

    def quotient(self, name: str, over: str) -> Estimate | None:
        """Return a figure, over another one where that has a name, with the range of what launches say.

        None where either was not measured, or is 0 in a launch of a few.
        """
        found = self._quotient(name, over)
        return found if found is not None and not isnan(found.value) else None

    def _quotient(self, name: str, over: str) -> Estimate | None:
        found = self.figure(name)
        if not over or found is None:
            return _range(found) if found else None
        below = self.figure(over)
        if below is None or not below.estimate.value:
            return None
        same_run = not {name, over} & self.tables.keys() and self._reading(name).place == self._reading(over).place
        return _quotient(found, below, same_run)

    def origin(self, name: str) -> Origin | Literal["published"]:
        """Return the origin of a figure that is there; what frames allow is calculated."""
        if name in self.tables:
            return self.tables[name].origin
        reading = self._reading(name)
        return "simulated" if reading.read in FRAMES else self.places[reading.place].origin

    def why_not(self, name: str) -> str:
        """Return why a figure was not measured, where that is known."""
        return "" if name in self.tables else self.absent.get(self._reading(name).place, "")

    def incomparable(self, name: str, needed: int) -> str:
        """Return why a figure is not that of the network: its hosts wait for processors, or a link lacks its rate.

        Empty where it is. `needed`: processors.
        """
        reading = None if name in self.tables else self._reading(name)
        place = self.places.get(reading.place if reading else "")
        if place is None or (reading and reading.read in FRAMES):
            return ""
        shared = place.processors if reading else None
        if shared is not None and shared < needed:
            return f"not judged: the hosts of the lab share {shared} processors, and this needs {needed}"
        return f"not judged: {place.unfaithful}" if place.unfaithful else ""

    def shape(self, name: str) -> tuple[int, int]:
        """Return the message and the ranks of a figure; 0 where it has none."""
        if name in self.tables:
            return self.tables[name].size, self.tables[name].ranks
        reading = self._reading(name)
        return int(reading.parameters.get("message_bytes", 0)), reading.ranks

    def _reading(self, name: str) -> Reading:
        if name not in self.readings:
            allowed = ", ".join([*self.readings, *self.tables])
            raise UsageError(f"{name!r}: unknown figure; must be one of: {allowed}")
        return self.readings[name]


def by_words(rows: Iterable[Row], statements: Iterable[Statement]) -> dict[str, Row]:
    """Return rows of tables by their words.

    A table may add to the words of a figure on how many processes it was measured: the most then stand for it.
    """
    found = {row.row: row for row in sorted(rows, key=lambda row: row.ranks)}
    for name in {name for one in statements for name in (one.of, one.over) if name}:
        longer = [row for words, row in found.items() if words.startswith(f"{name}, ")]
        if name not in found and longer:
            found[name] = longer[-1]
    return found


def rows(statements: Iterable[Statement], known: Known) -> list[Row]:
    """Return a row for each statement; what tables print and predict need not be said again."""
    return [_row(_completed(one, known.tables), known) for one in statements]


def _completed(one: Statement, tables: Mapping[str, Row]) -> Statement:
    """Return a statement about rows of tables with their published and predicted figures."""
    above, below = tables.get(one.of), tables.get(one.over)
    if above is None or (one.over and below is None):
        return one
    given = {
        "unit": above.unit,
        "published": above.published if below is None or below.published is not None else None,
        "published_over": below.published if below and above.published is not None else None,
        "predicted": _over(above.predicted, below.predicted if below else None, bool(one.over)),
    }
    unsaid = {name: value for name, value in given.items() if name not in one.model_fields_set}
    return one.model_copy(update=unsaid)


def _over(above: float | None, below: float | None, quotient: bool) -> float | None:
    if not quotient:
        return above
    return above / below if above is not None and below else None


def _row(one: Statement, known: Known) -> Row:
    found = known.quotient(one.of, one.over)
    names = [name for name in (one.of, one.over) if name]
    remarks = [one.remark]
    other = next((why for name in names if (why := known.incomparable(name, one.processors))), "")
    if found is not None:
        remarks.append(other)
    else:
        reasons = [reason for name in names if (reason := known.why_not(name))]
        remarks.append(f"not measured here: {reasons[0]}" if reasons else "not measured here")
    size, ranks = known.shape(one.of)
    return Row(
        row=one.title,
        published=one.printed,
        predicted=_predicted(one, known),
        measured=found.value if found else None,
        unit="1" if one.over else one.unit,
        limit=None,
        origin=_origin([known.origin(name) for name in names]) if found else "published",
        size=size,
        ranks=ranks,
        remark="; ".join(filter(None, remarks)),
        where=one.where,
        says=says(one),
        relation=relation(one),
        holds=holds(found, one.bounds) if found and not other else "",
    )


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
    if one.factor is not None:
        return f"within a factor of {one.factor:g}"
    unit = "1" if one.over else one.unit
    low, high = (units.quantity(each, unit) if each is not None else "" for each in one.bounds)
    if low and high:
        return f"{low} to {high}"
    return f"above {low}" if low else f"below {high}" if high else ""


def holds(found: Estimate, bounds: tuple[float | None, float | None]) -> Holds:
    """Return whether a figure lies between bounds: undecided where a bound lies within what launches say of it."""
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


def _predicted(one: Statement, known: Known) -> float | None:
    if not isinstance(one.predicted, str):
        return one.predicted
    found = known.quotient(one.predicted, one.predicted_over)
    return found.value if found else None


def _origin(origins: Sequence[Origin | Literal["published"]]) -> Origin | Literal["published"]:
    """Return the origin of a figure that is made of others: that of what was not measured on a real network."""
    return next((each for each in ("published", "emulated", "measured") if each in origins), "simulated")


def _range(found: PerLaunch) -> Estimate:
    """Return a figure with its interval where launches or a fit give one, else with the extremes of launches."""
    fitted = not found.launches and found.estimate.low is not None
    if fitted or len(found.launches) >= LAUNCHES_FOR_INTERVAL:
        return found.estimate
    each = found.launches.values() or [found.estimate.value]
    value = found.estimate.value
    return Estimate(value=value, low=min(value, *each), high=max(value, *each))


def _quotient(above: PerLaunch, below: PerLaunch, same_run: bool) -> Estimate:
    """Return a quotient likewise: of launches that measured both, or of any two launches of different runs."""
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


def _of_place(one: Reading, place: Observed) -> PerLaunch | None:
    if one.read in FRAMES:
        return PerLaunch(Estimate.exact(_of_frames(one, place.link_bits_per_s or 0.0)))
    if one.read == "fitted":
        return _fitted(one, place.fits)
    found = [each for each in place.measurements.headlines if _is_meant(one, each)]
    if not found:
        return None
    if one.read == "half_peak":
        return _half_peak({place.measurements.size(each): each.median or 0.0 for each in found})
    if one.read == "longest":
        return max(found, key=place.measurements.size).per_launch
    if one.read == "largest":
        return max(found, key=lambda each: each.median or 0.0).per_launch
    if one.read == "smallest":
        return min(found, key=lambda each: each.median or 0.0).per_launch
    if len(found) > 1:
        cases = "; ".join(each.label for each in found)
        raise UsageError(f"{one.benchmark} {one.metric}: must be one case; the run has {len(found)}: {cases}")
    return found[0].per_launch


FRAMES = ("half_frames", "frames")
_PROTOCOLS = {
    "raw": limits.RAW,
    "tcp": limits.TCP_IP,
    "tcp_timestamps": limits.TCP_IP_TIMESTAMPS,
    "tcp_acknowledged": limits.TCP_IP_ACKNOWLEDGED,
}


def _of_frames(one: Reading, link_bits_per_s: float) -> float:
    """Return the payload per second of full frames, or the shortest payload of one that has half of it."""
    protocol = _PROTOCOLS[one.protocol]
    most = limits.asymptotic_bytes_per_s(link_bits_per_s, protocol)
    if one.read == "frames":
        return most
    payloads = range(1, limits.Frame().mtu_bytes - protocol.header_bytes + 1)
    return next(n for n in payloads if limits.throughput_bytes_per_s(link_bits_per_s, n, protocol) >= most / 2)


def _is_meant(one: Reading, summary: Summary) -> bool:
    return (
        (summary.benchmark, summary.metric, summary.transport) == (one.benchmark, one.metric, one.transport)
        and one.ranks in (0, summary.ranks)
        and one.placement in ("", summary.placement.kind)
        and one.parameters.items() <= summary.parameters.items()
    )


def _fitted(one: Reading, fits: Iterable[Fit]) -> PerLaunch | None:
    model, _, name = one.fitted.partition(".")
    for fit in fits:
        subject = fit.subject
        same = (fit.model, subject.benchmark, fit.metric, subject.transport) == (
            model,
            one.benchmark,
            one.metric,
            one.transport,
        )
        if same and one.parameters.items() <= subject.parameters.items() and one.ranks in (0, subject.ranks):
            found = next((each for each in fit.parameters if each.name == name), None)
            if found is not None:
                return PerLaunch(Estimate(value=found.value, low=found.low, high=found.high))
    return None


def _half_peak(rates: Mapping[int, float]) -> PerLaunch | None:
    """Return the length that first reaches half of the longest one's rate; None where the shortest exceeds it."""
    sizes = sorted(rates)
    half = rates[sizes[-1]] / 2
    first = next(number for number, size in enumerate(sizes) if rates[size] >= half)
    if first == 0:
        return None
    # Between two lengths the time is taken to be a straight line: exact where it is one.
    below, above = sizes[first - 1], sizes[first]
    start, end = below / rates[below], above / rates[above]
    per_byte = (end - start) / (above - below)
    return PerLaunch(Estimate(value=half * (start - below * per_byte) / (1 - half * per_byte)))
