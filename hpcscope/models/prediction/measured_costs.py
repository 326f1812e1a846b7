"""The cost of a message or a collective according to the measured lower levels, with its uncertainty."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from hpcscope.catalog.benchmark import Pattern
from hpcscope.catalog.ranks import GROUP
from hpcscope.models.fitting.draws import draw
from hpcscope.models.ladder.paths import paths
from hpcscope.models.measurements import Measurements, usable
from hpcscope.models.prediction.costs.steps import CollectiveStep, Messages, NeighborExchange, crossing
from hpcscope.samples.samples import Floats
from hpcscope.statistics.bootstrap import DRAWS
from hpcscope.statistics.summary import Summary

SEED = 11
PAIR = 2
ALIKE_ON_TWO = ("MPI_Alltoallv", "MPI_Alltoall")
"""Routines that exchange the same data between two ranks."""
NEIGHBORS: Pattern = "neighbor_exchange"
"""The pattern of benchmarks that measure exchanges with all neighbors on a ring or grid of ranks."""
DIMENSIONS = "dimensions"
"""The parameter of these benchmarks that gives the number of dimensions of the grid."""
LARGEST_OF_LATENCY = 4096
"""Largest size in bytes of a smallest message that still determines the latency."""
MESSAGE = "MPI_Send"
"""The routine whose benchmark measures the cost of a message."""


class NotMeasuredError(Exception):
    """A parameter that this run did not measure; the message says which one, and what to run."""


@dataclass(frozen=True)
class SizeCurve:
    """Times over message sizes: `sizes` of the shape (points,), `drawn_s` (points, 1 + draws)."""

    name: str
    sizes: Floats
    drawn_s: Floats

    def at(self, message_bytes: float) -> Floats:
        """Interpolate between the sizes; extrapolate beyond the largest from the last two; shape (1 + draws,)."""
        if self.sizes.size == 1:
            return np.asarray(self.drawn_s[0], dtype=np.float64)
        right = int(np.clip(np.searchsorted(self.sizes, message_bytes), 1, self.sizes.size - 1))
        left = right - 1
        share = (message_bytes - self.sizes[left]) / (self.sizes[right] - self.sizes[left])
        share = max(share, 0.0)
        return np.asarray(self.drawn_s[left] * (1 - share) + self.drawn_s[right] * share, dtype=np.float64)

    @property
    def latency_s(self) -> Floats:
        """The time at 0 bytes on the line through the two smallest sizes; 0 if no size is small enough."""
        if self.sizes.size == 1 or self.sizes[0] > LARGEST_OF_LATENCY:
            return np.zeros_like(self.drawn_s[0])
        slope = (self.drawn_s[1] - self.drawn_s[0]) / (self.sizes[1] - self.sizes[0])
        return np.asarray(np.clip(self.drawn_s[0] - slope * self.sizes[0], 0.0, self.drawn_s[0]), dtype=np.float64)

    def beyond(self, message_bytes: float) -> bool:
        """Return whether a size is outside the measured range."""
        return not self.sizes[0] <= message_bytes <= self.sizes[-1]


class MeasuredCosts:
    """Message and collective costs of a run over one transport."""

    def __init__(self, measurements: Measurements, transport: str) -> None:
        self._measurements = measurements
        self._transport = transport
        self._random = np.random.default_rng(SEED)
        machine = measurements.machine
        self._paths = [path for path in paths(machine, measurements.launches) if path.transport == transport]
        together = [
            launch for launch in measurements.launches if launch.transport == transport and launch.ranks > 1
        ]
        self._apart = not any(
            len({process.host for process in launch.processes}) < launch.ranks for launch in together
        )
        rooms = (usable(host) for host in machine.hosts)
        self.host_room = min((room for room in rooms if room is not None), default=None)
        """Most ranks for which one host has a processor each; None if that is not known."""
        self._curves: dict[tuple[object, ...], SizeCurve | None] = {}

    def between_hosts(self, ranks: int) -> bool:
        """Return whether this number of ranks needs several hosts, in a cluster of hosts like the measured ones.

        Two ranks already do if no two ranks of the run were on one host.
        """
        if not any(not path.inside for path in self._paths):
            return False
        return (self._apart and ranks > 1) or (self.host_room is not None and ranks > self.host_room)

    def on_a_host(self, ranks: int) -> int:
        """Return how many of the ranks share a host."""
        return 1 if self._apart else min(ranks, self.host_room or ranks)

    def beyond_a_host(self, ranks: int) -> str:
        """Return the assumption made if ranks outnumber a host's processors and no other host was measured."""
        if self.host_room is None or ranks <= self.host_room or self.between_hosts(ranks):
            return ""
        return f"more ranks than the {self.host_room} processors of a host: predicted as if there were enough"

    def messages(self, step: Messages, outside: bool) -> tuple[Floats, str, str]:
        """Return the draws of the time in s, the name of their source, and the extrapolated part."""
        curve = self._ping_pong(outside)
        return step.count * curve.at(step.bytes), curve.name, _beyond(curve, step.bytes)

    def collective(self, step: CollectiveStep, outside: bool, together: int) -> tuple[Floats, str, str]:
        """Return the same for a collective: as measured, else from the messages that stand for it.

        Messages that pairs of ranks exchange cost what the collective takes on two ranks, if that was measured.
        `together`: the number of ranks of the program, groups of which call the collective at the same time.
        """
        if step.ranks < 2:
            return np.zeros(1 + DRAWS), "", ""
        curve = self._measured(step, outside, together)
        if curve is not None:
            return step.times * curve.at(step.bytes), curve.name, _beyond(curve, step.bytes)
        if step.messages and (pair := self._measured(replace(step, ranks=PAIR), outside, together)):
            return step.count * pair.at(step.bytes), f"{pair.name}, one after another", _beyond(pair, step.bytes)
        ping_pong = self._ping_pong(outside)
        kind = "messages" if step.messages else "a tree of messages"
        name = f"{kind} for {step.routine} ({ping_pong.name})"
        return step.count * ping_pong.at(step.bytes), name, _beyond(ping_pong, step.bytes)

    def neighbor_exchange(self, step: NeighborExchange, outside: bool) -> tuple[Floats, str, str]:
        """Return the same for exchanges with neighbors: as measured on a ring or grid, else as pairwise exchanges.

        Messages that are posted together share one latency.
        """
        pair = crossing(step.phase, step.times, step.bytes)
        for where in (outside, None):
            pairs = (
                (curve, float(step.neighbors)) for curve in self._of_collectives(pair, "mpi", where, step.ranks)
            )
            known = [*self._of_neighbors(step, where), *pairs]
            if known:
                curve, ratio = next((cost for cost in known if not cost[0].beyond(step.bytes)), known[0])
                time_s = _of_messages(curve, step.bytes, ratio)
                return step.times * time_s, curve.name, _beyond(curve, step.bytes)
        return self.messages(Messages(step.phase, step.count, step.bytes), outside)

    def _ping_pong(self, outside: bool) -> SizeCurve:
        path = next((path for path in self._paths if path.inside != outside), None)
        cases = (case for case in self._measurements.calling(MESSAGE) if path is not None and path.carries(case))
        curve = self._curve((MESSAGE, outside), cases, f", {path.name}" if path else "")
        if curve is None:
            names = " or ".join(bound.benchmark.name for bound in self._measurements.catalog.bound_to(MESSAGE))
            way = "between hosts" if outside else "inside a host"
            over = "" if self._transport == "default" else f" transport={self._transport}"
            raise NotMeasuredError(
                f"{names or MESSAGE}{over} was not measured {way}: the cost of a message is not known"
            )
        return curve

    def _measured(self, step: CollectiveStep, outside: bool, together: int) -> SizeCurve | None:
        """Return the times of a collective inter-node, or intra-node, as the program runs; else of any placement.

        For cold buffers, an operation that was measured with them goes before the library's collective.
        """
        for where in (outside, None):
            for level in ["operation", "mpi"] if step.fresh else ["mpi"]:
                if known := self._of_collectives(step, level, where, together):
                    return next((curve for curve in known if not curve.beyond(step.bytes)), known[0])
        return None

    def _of_collectives(
        self, step: CollectiveStep, level: str, outside: bool | None, together: int
    ) -> list[SizeCurve]:
        """Return the times with the program's number of concurrent groups, and with one group alone."""
        numbers = dict.fromkeys((together, step.ranks))
        curves = (self._of_collective(step.routine, level, step.ranks, ranks, outside) for ranks in numbers)
        return [curve for curve in curves if curve is not None]

    def _of_collective(
        self, routine: str, level: str, group: int, ranks: int, outside: bool | None
    ) -> SizeCurve | None:
        """Return the times of a collective among `group` ranks, when all of `ranks` call it.

        `outside`: between hosts or inside one; None: either. Of two routines that do the same, the one that was
        measured at more sizes.
        """
        routines = ALIKE_ON_TWO if group == PAIR and routine in ALIKE_ON_TWO else (routine,)
        curves = [self._of_routine(name, level, group, ranks, outside) for name in routines]
        return max(
            (curve for curve in curves if curve), key=lambda size_curve: size_curve.sizes.size, default=None
        )

    def _of_routine(
        self, routine: str, level: str, group: int, ranks: int, outside: bool | None
    ) -> SizeCurve | None:
        cases = (
            case
            for case in self._measurements.calling(routine, level, free=[GROUP])
            if case.ranks == ranks
            and (case.parameters.get(GROUP, 0) or ranks) == group
            and case.transport == self._transport
            and outside in (None, self._between_hosts(case, group))
        )
        among = f"{group} ranks" if ranks == group else f"{ranks // group} groups of {group} ranks"
        return self._curve((routine, level, group, ranks, outside), self._repeated(cases), f" on {among}")

    def _of_neighbors(self, step: NeighborExchange, outside: bool | None) -> Iterator[tuple[SizeCurve, float]]:
        """Yield curves of exchanges with neighbors, best first, each with the step's messages over its own.

        A grid with the step's number of dimensions comes before a ring. For each, the largest number of ranks up
        to the step's number comes first.
        """
        cases = [
            on.summary
            for on in self._measurements.standing(NEIGHBORS, "mpi", "s")
            if on.summary.transport == self._transport
            and outside in (None, self._between_hosts(on.summary, on.summary.ranks))
        ]
        counts = sorted(
            {case.ranks for case in cases}, key=lambda count: (count > step.ranks, abs(count - step.ranks))
        )
        for dimensions in dict.fromkeys(((step.neighbors + 1) // 2, 1)):
            for ranks in counts:
                same = (
                    case for case in cases if (case.parameters.get(DIMENSIONS), case.ranks) == (dimensions, ranks)
                )
                key = (NEIGHBORS, dimensions, ranks, outside)
                if curve := self._curve(key, self._repeated(same), f" on {ranks} ranks"):
                    yield curve, step.neighbors / (2 * dimensions)

    def _between_hosts(self, case: Summary, ranks: int) -> bool:
        """Return whether the first `ranks` ranks of a case were on several hosts."""
        hosts = self._measurements.hosts(case)
        return len(set(hosts[:ranks])) > 1 if hosts else case.placement.one_per_host

    def _repeated(self, cases: Iterable[Summary]) -> Iterator[Summary]:
        """Yield the results of the same operations back to back.

        A program repeats them: a rank may begin before the previous call has ended on all other ranks.
        """
        return map(self._measurements.back_to_back, cases)

    def _curve(self, key: tuple[object, ...], cases: Iterable[Summary], where: str) -> SizeCurve | None:
        """Return the curve of some cases, which is made once for each key; None if there are no cases."""
        if key not in self._curves:
            found = list(cases)
            name = f"{found[0].benchmark}{where}" if found else ""
            self._curves[key] = curve(name, found, self._random, self._measurements) if found else None
        return self._curves[key]


def curve(
    name: str, summaries: Iterable[Summary], random: np.random.Generator, measurements: Measurements
) -> SizeCurve:
    """Return the curve of times over message sizes; if several results have one size, the first counts."""
    by_size: dict[float, Summary] = {}
    for summary in summaries:
        by_size.setdefault(measurements.message_bytes(summary), summary)
    sizes = sorted(by_size)
    drawn = np.array([draw(by_size[size], random) for size in sizes])
    return SizeCurve(name, np.array(sizes, dtype=np.float64), drawn)


def _of_messages(curve: SizeCurve, message_bytes: float, ratio: float) -> Floats:
    """Return the time of `ratio` times the curve's messages, all posted together: the latency counts once."""
    alone = curve.at(message_bytes)
    latency = np.minimum(curve.latency_s, alone)
    return np.asarray(latency + (alone - latency) * ratio, dtype=np.float64)


def _beyond(curve: SizeCurve, message_bytes: float) -> str:
    if not curve.beyond(message_bytes):
        return ""
    return f"messages outside {curve.sizes[0]:.0f} to {curve.sizes[-1]:.0f} B"
