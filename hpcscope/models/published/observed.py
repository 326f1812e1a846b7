"""What a run observed of the values that a published experiment asks for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Protocol

import numpy as np

from hpcscope import units
from hpcscope.catalog.benchmark import Value
from hpcscope.errors import UsageError
from hpcscope.lab.fidelity import faithful
from hpcscope.models.communication.panel_traffic import Crossing, busy_s, crossings, product_of, sent_bytes
from hpcscope.models.fitting.fit import Fit
from hpcscope.models.ladder import limits
from hpcscope.models.measurements import Measurements, shared_processors
from hpcscope.models.prediction.costs.steps import Problem
from hpcscope.models.prediction.measured_costs import NotMeasuredError
from hpcscope.models.prediction.points import PredictedPoint
from hpcscope.models.prediction.prediction import Predictor, all_costs, problem_of
from hpcscope.models.published.statement import StatementReading
from hpcscope.models.scaling.speedup import Speedup
from hpcscope.samples.records import Origin
from hpcscope.samples.samples import CaseSamples, Samples
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.ratio import PerLaunch
from hpcscope.statistics.summary import Summary
from hpcscope.topology.topology import Topology

FRAMES = ("half_frames", "frames")
PROTOCOLS = {
    "raw": limits.RAW,
    "tcp": limits.TCP_IP,
    "tcp_timestamps": limits.TCP_IP_TIMESTAMPS,
    "tcp_acknowledged": limits.TCP_IP_ACKNOWLEDGED,
}
LAWS = {
    "linear_collective": "linear",
    "linear_broadcast": "linear",
    "logarithmic_collective": "logarithmic",
    "logarithmic_broadcast": "logarithmic",
    "logarithmic_reduce": "logarithmic",
}
MOST_RANKS = 64
"""Largest number of ranks considered for the predicted critical count."""
COUNTED = "_bytes"
"""Names of the link counters among the observations of a case: `HERE>THERE_bytes`."""


@dataclass(frozen=True)
class ReadValue:
    """What is known about a reading."""

    measured: PerLaunch | None = None
    predicted: float | None = None
    """The prediction of the run's models."""
    size: int = 0
    ranks: int = 0
    taken: Mapping[str, Value] = field(default_factory=dict)
    """The parameters and ranks that were chosen from several."""
    law: str = ""
    """The law of growth that the models chose."""
    remarks: Sequence[str] = ()
    """Differences from the published case."""
    why_not: str = ""
    """Why it was not measured, if that is known."""
    places: frozenset[str] = frozenset()
    """Names of the places where it was measured."""
    origins: frozenset[Origin] = frozenset()


class ObservedPlace(Protocol):
    """What was observed at one place."""

    @property
    def origin(self) -> Origin:
        """The origin of its values."""

    @property
    def processors(self) -> int | None:
        """Return the processors that all hosts of an emulated cluster share; None if that is not a limit."""

    @property
    def invalid(self) -> str:
        """Why its values do not describe the declared network; empty if they do."""

    def read(self, one: StatementReading) -> ReadValue:
        """Return what is known about a reading at this place."""


@dataclass(frozen=True)
class ObservedRun:
    """What a run of cases observed."""

    measurements: Measurements
    fits: Sequence[Fit] = ()
    link_bits_per_s: float | None = None
    speedups: Sequence[Speedup] = ()
    topology: Topology | None = None
    samples: Samples | None = None
    """The samples that contain the byte counts of a lab's trunks."""
    broadcasts_s: Mapping[str, float] = field(default_factory=dict)
    """Broadcast times among the most ranks, estimated from the topology, by transport."""
    broadcast_limit_s: float | None = None
    disturbed: str = ""
    """What other programs took from the run; empty if nothing."""
    _predictors: dict[str, Predictor] = field(default_factory=dict, init=False)

    @property
    def origin(self) -> Origin:
        """The origin of its values."""
        return next((summary.origin for summary in self.measurements.summaries), "measured")

    @property
    def processors(self) -> int | None:
        """The number of processors that all hosts of an emulated cluster share; None if that is not a limit."""
        return shared_processors(self.measurements.machine) if self.origin == "emulated" else None

    @property
    def invalid(self) -> str:
        """The link with the largest deviation from its declared rate, or other programs; empty if neither."""
        lab = self.measurements.machine.lab
        off = [link for link in lab.links if not faithful(link)] if lab else []
        if not off:
            return self.disturbed
        link, (what, deviation) = max(((link.link, link.worst) for link in off), key=lambda one: abs(one[1][1]))
        return f"the {link} of the lab carried {what} at {units.share(1 + deviation)} of the declared rate"

    def read(self, reading: StatementReading) -> ReadValue:
        """Return what is known about a reading of this run."""
        if reading.read == "growth":
            return self._growth(reading)
        cases = self._cases(reading)
        case = self._chosen(reading, cases) if cases else None
        size = self.measurements.size(case) if case else self._published_size(reading)
        ranks = case.ranks if case else reading.ranks
        several = [name for name, values in reading.parameters.items() if isinstance(values, list)]
        taken = {name: case.parameters[name] for name in several if name in case.parameters} if case else {}
        if case and reading.fewer_ranks:
            taken["ranks"] = ranks
        published = {**next(_alternatives(reading)), "ranks": reading.ranks}
        remarks = [f"{name} = {value} here" for name, value in taken.items() if value != published[name]]
        if case and reading.read in ("largest", "smallest") and len(cases) > 1:
            remarks.append(f"here {case.label}")
        if any(map(self.measurements.is_oversubscribed, cases)):
            remarks.append("more ranks than processors")
        measured = self._measured(reading, cases)
        return ReadValue(measured, self._predicted(reading, cases, ranks), size, ranks, taken, remarks=remarks)

    def _cases(self, reading: StatementReading) -> list[Summary]:
        """Return the results that a reading means: with the first parameters and the most ranks that were run."""
        for given in _alternatives(reading):
            cases = [summary for summary in self.measurements.summaries if _is_meant(reading, given, summary)]
            if reading.fewer_ranks:
                most = max((case.ranks for case in cases), default=0)
                cases = [case for case in cases if case.ranks == most]
            if cases:
                return cases
        return []

    def _chosen(self, reading: StatementReading, cases: Sequence[Summary]) -> Summary:
        if reading.read == "longest":
            return max(cases, key=self.measurements.size)
        if reading.read == "largest":
            return max(cases, key=lambda case: case.median or 0.0)
        if reading.read == "smallest":
            return min(cases, key=lambda summary: summary.median or 0.0)
        return cases[0]

    def _published_size(self, reading: StatementReading) -> int:
        catalog = self.measurements.catalog
        known = reading.benchmark in catalog
        return (catalog.size(reading.benchmark, next(_alternatives(reading))) or 0) if known else 0

    def _measured(self, reading: StatementReading, summaries: Sequence[Summary]) -> PerLaunch | None:
        if reading.read in FRAMES:
            return PerLaunch(Estimate.exact(_of_frames(reading, self.link_bits_per_s or 0.0)))
        if reading.read == "broadcast_limit":
            return _exactly(self.broadcast_limit_s)
        if reading.read == "fitted":
            return self._fitted(reading)
        if reading.read == "critical_ranks":
            return self._critical(reading)
        if not summaries:
            return None
        if reading.read == "inverse_law":
            return _inverse_law(summaries)
        if reading.read == "trunk":
            return _exactly(
                busy_s(self._told(summaries[0])) or busy_s([*self._counted(summaries[0]).values()]) or None
            )
        if reading.read == "trunk_bytes":
            crossing = self._counted(summaries[0]).get(reading.group)
            return _exactly(crossing.busier_bytes if crossing else None)
        if reading.read == "half_peak":
            return _half_peak({self.measurements.size(case): case.median or 0.0 for case in summaries})
        if reading.read == "median" and len(summaries) > 1:
            cases = "; ".join(case.label for case in summaries)
            raise UsageError(
                f"{reading.benchmark} {reading.metric}: must be one case; the run has {len(summaries)}: {cases}"
            )
        return self._chosen(reading, summaries).per_launch

    def _predicted(self, reading: StatementReading, cases: Sequence[Summary], ranks: int) -> float | None:
        if reading.read == "trunk_bytes":
            told = [
                crossing for case in cases[:1] for crossing in self._told(case) if crossing.group == reading.group
            ]
            return told[0].busier_bytes if told else None
        if reading.read == "critical_ranks":
            points = [self._point(reading, ranks) for ranks in range(1, MOST_RANKS + 1)]
            times = [(point.total_s.value, ranks) for ranks, point in enumerate(points, 1) if point is not None]
            return float(min(times)[1]) if len(times) == MOST_RANKS else None
        if reading.read != "median" or reading.metric not in ("time_s", "compute_s"):
            return None
        if reading.benchmark == "mpi.broadcast":
            most = max((each.ranks for each in self.measurements.summaries), default=reading.ranks)
            return self.broadcasts_s.get(reading.transport) if reading.ranks == most else None
        point = self._point(reading, ranks) if ranks and reading.transport == "default" else None
        if point is None:
            return None
        return (point.total_s if reading.metric == "time_s" else point.compute_s).value

    def _point(self, reading: StatementReading, ranks: int) -> PredictedPoint | None:
        """Return the prediction from measured costs; None if the run lacks a parameter."""
        catalog = self.measurements.catalog
        costs = all_costs(catalog).get(reading.benchmark)
        if costs is None or reading.benchmark not in catalog:
            return None
        alone = reading.model_copy(update={"metric": "time_s", "ranks": 1, "fewer_ranks": False})
        parallel = catalog.of_role(reading.benchmark, next(_alternatives(reading)), "parallel")
        for given in _alternatives(reading):
            wanted = {name: value for name, value in given.items() if name not in parallel}
            cases = [summary for summary in self.measurements.summaries if _is_meant(alone, wanted, summary)]
            if cases:
                known = problem_of(cases[0], catalog)
                sizes = catalog.of_role(reading.benchmark, given, "size")
                asked = {name: value for name, value in given.items() if name not in sizes}
                if reading.benchmark not in self._predictors:
                    self._predictors[reading.benchmark] = Predictor(costs, self.measurements)
                try:
                    problem = Problem(known.size, ranks, known.parameters | asked)
                    return self._predictors[reading.benchmark].point(problem)
                except (NotMeasuredError, UsageError):
                    return None
        return None

    def _critical(self, reading: StatementReading) -> PerLaunch | None:
        for given in _alternatives(reading):
            for speedup in self.speedups:
                subject = speedup.subject
                if subject.benchmark == reading.benchmark and given.items() <= subject.parameters.items():
                    critical = speedup.amdahl.critical_ranks if speedup.amdahl else None
                    return PerLaunch(critical) if critical else None
        return None

    def _growth(self, reading: StatementReading) -> ReadValue:
        """Return the time on all ranks over the time on half of them, and the law that the models chose."""
        size = self._published_size(reading)
        found = [fit for fit in self._fits(reading) if fit.variable == "ranks"]
        if not found:
            return ReadValue(size=size, ranks=reading.ranks)
        # If no law fits, the values are still shown: any fit has the points.
        first = min(found, key=lambda fit: not fit.chosen)
        points = sorted(first.points, key=lambda point: point.x)
        last = points[-1]
        half = min(points, key=lambda point: abs(point.x - last.x / 2))
        law = LAWS.get(first.model, first.model)
        chosen = f"chosen: {law}" if first.chosen else f"no law was chosen; {law}: {first.reason}"
        return ReadValue(
            _exactly(last.measured / half.measured),
            last.fitted / half.fitted if first.chosen else None,
            size,
            int(last.x),
            law=law if first.chosen else "",
            remarks=[f"{last.x:g} over {half.x:g} ranks", chosen],
        )

    def _fitted(self, reading: StatementReading) -> PerLaunch | None:
        model, _, name = reading.fitted.partition(".")
        for fit in self._fits(reading):
            if (fit.model, fit.metric) == (model, reading.metric) and reading.ranks in (0, fit.subject.ranks):
                for parameter in fit.parameters:
                    if parameter.name == name:
                        return PerLaunch(Estimate(value=parameter.value, low=parameter.low, high=parameter.high))
        return None

    def _fits(self, reading: StatementReading) -> list[Fit]:
        """Return the fits to a reading's benchmark, over its transport and with its parameters."""
        return [
            fit
            for fit in self.fits
            if (fit.subject.benchmark, fit.subject.transport) == (reading.benchmark, reading.transport)
            and reading.parameters.items() <= fit.subject.parameters.items()
        ]

    def _told(self, case: Summary) -> list[Crossing]:
        """Return the bytes that a product's own messages carry into and out of each group of hosts."""
        hosts = self.measurements.hosts(case)
        if self.topology is None or not hosts:
            return []
        made = product_of(case.benchmark, case.parameters, case.ranks)
        return crossings(sent_bytes(made), hosts, self.topology) if made.known else []

    def _counted(self, case: Summary) -> dict[str, Crossing]:
        """Return the bytes that the trunks counted while the product ran."""
        if self.topology is None or self.samples is None:
            return {}
        return counted(self.samples.by_case().get(case.samples_key, []), self.topology)


def counted(launches: Sequence[CaseSamples], topology: Topology) -> dict[str, Crossing]:
    """Return, for each group at one end of a single trunk, the mean bytes of a product over this trunk."""
    means: dict[str, list[float]] = {}
    for times in (times for case in launches for times in case.times):
        for name, values in times.observed.items():
            if ">" in name and name.endswith(COUNTED) and times.counted.any():
                bytes_each = values[:, times.counted].max(axis=0)  # rank 0 counts for all
                means.setdefault(name.removesuffix(COUNTED), []).append(float(bytes_each.mean()))
    ways = {tuple(name.split(">")): float(np.mean(values)) for name, values in means.items()}
    found = {}
    for group in topology.group:
        out = [size for (here, _), size in ways.items() if here == group.name]
        into = [size for (_, there), size in ways.items() if there == group.name]
        if len(out) == len(into) == 1:
            rate, duplex = group.uplink_bytes_per_s, group.uplink_duplex
            found[group.name] = Crossing(group.name, out[0], into[0], rate, duplex)
    return found


def _alternatives(reading: StatementReading) -> Iterator[dict[str, Value]]:
    """Yield the combinations of parameters: the published one, then its alternatives."""
    values = [
        parameter if isinstance(parameter, list) else [parameter] for parameter in reading.parameters.values()
    ]
    return (dict(zip(reading.parameters, combination, strict=True)) for combination in product(*values))


def _is_meant(reading: StatementReading, given: Mapping[str, Value], summary: Summary) -> bool:
    """Return whether a result belongs to a reading; on one rank, the parameters of messages may be missing.

    For values with a unit, 0 is below the clock's resolution and not a result.
    """
    alone = summary.ranks == 1
    return (
        summary.is_headline
        and (bool(summary.median) or summary.dimensionless)
        and (summary.benchmark, summary.metric, summary.transport)
        == (reading.benchmark, reading.metric, reading.transport)
        and (1 < summary.ranks <= reading.ranks if reading.fewer_ranks else reading.ranks in (0, summary.ranks))
        and reading.placement in ("", summary.placement.kind)
        and all(summary.parameters.get(name, value if alone else None) == value for name, value in given.items())
    )


def _exactly(value: float | None) -> PerLaunch | None:
    """Return a value without an interval."""
    return PerLaunch(Estimate(value=value)) if value is not None else None


def _of_frames(reading: StatementReading, link_bits_per_s: float) -> float:
    """Return the payload rate of full frames, or the smallest payload per frame that reaches half of it."""
    protocol = PROTOCOLS[reading.protocol]
    most = limits.asymptotic_bytes_per_s(link_bits_per_s, protocol)
    if reading.read == "frames":
        return most
    payloads = range(1, limits.Frame().mtu_bytes - protocol.header_bytes + 1)
    return next(n for n in payloads if limits.throughput_bytes_per_s(link_bits_per_s, n, protocol) >= most / 2)


def _inverse_law(cases: Sequence[Summary]) -> PerLaunch | None:
    """Return a of t(p) = a / p with the least sum over p of (a / (p t) - 1)^2."""
    inverse = [1 / (case.ranks * case.median) for case in cases if case.median]
    return _exactly(sum(inverse) / sum(weight**2 for weight in inverse)) if inverse else None


def _half_peak(rates: Mapping[int, float]) -> PerLaunch | None:
    """Return the length that first reaches half of the longest one's rate; None if the shortest reaches it."""
    sizes = sorted(rates)
    half = rates[sizes[-1]] / 2
    first = next(number for number, size in enumerate(sizes) if rates[size] >= half)
    if first == 0:
        return None
    # Between two lengths, the time is assumed to be linear in the length.
    below, above = sizes[first - 1], sizes[first]
    start, end = below / rates[below], above / rates[above]
    per_byte = (end - start) / (above - below)
    return PerLaunch(Estimate(value=half * (start - below * per_byte) / (1 - half * per_byte)))
