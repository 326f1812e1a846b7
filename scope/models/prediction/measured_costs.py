"""What the levels below an algorithm say a message or a collective costs, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scope.machine.machine import Machine
from scope.models.fitting.draws import DRAWS, draw
from scope.models.fitting.oversubscription import usable
from scope.models.ladder.ladder import Results
from scope.models.ladder.paths import Path, paths
from scope.models.prediction.costs.steps import Collective, Messages, ceil_log2
from scope.plan.place import ONE_PER_HOST
from scope.samples.records import LaunchRecord
from scope.samples.samples import Floats
from scope.statistics.summary import Summary

SEED = 11
OPERATIONS = {"mpi.broadcast": "operation.broadcast"}
"""What does the same with a program's buffers."""


class NotMeasuredError(Exception):
    """A parameter that the lower levels of this run do not give; the message says which, and what to run."""


@dataclass(frozen=True)
class SizeCurve:
    """Times over message sizes: `sizes` of the shape (points,), `drawn_s` (points, 1 + draws)."""

    name: str
    sizes: Floats
    drawn_s: Floats

    def at(self, message_bytes: float) -> Floats:
        """Interpolate between the sizes; beyond the largest go on as from the one before; shape (1 + draws,)."""
        if self.sizes.size == 1:
            return np.asarray(self.drawn_s[0], dtype=np.float64)
        right = int(np.clip(np.searchsorted(self.sizes, message_bytes), 1, self.sizes.size - 1))
        left = right - 1
        share = (message_bytes - self.sizes[left]) / (self.sizes[right] - self.sizes[left])
        share = max(share, 0.0)
        return np.asarray(self.drawn_s[left] * (1 - share) + self.drawn_s[right] * share, dtype=np.float64)

    def beyond(self, message_bytes: float) -> bool:
        """Say whether a size lies outside what was measured."""
        return not self.sizes[0] <= message_bytes <= self.sizes[-1]


class LowerLevels:
    """Message and collective costs of a run over one transport."""

    def __init__(
        self, summaries: list[Summary], machine: Machine, launches: list[LaunchRecord], transport: str
    ) -> None:
        self._known = Results([s for s in summaries if s.primary and s.valid and s.median])
        self._transport = transport
        self._random = np.random.default_rng(SEED)
        self._paths = [path for path in paths(machine, launches) if path.transport == transport]
        rooms = [usable(machine, host.name) for host in machine.hosts]
        known = [room for room in rooms if room is not None]
        self.host_room = int(min(known)) if known else None
        """Processes that one host has a processor for; None where that is not known."""
        self._curves: dict[tuple[object, ...], SizeCurve | None] = {}

    def between_hosts(self, ranks: int) -> bool:
        """Say whether so many processes stand on several hosts of a cluster made of the measured ones."""
        several = any(not path.inside for path in self._paths)
        return several and self.host_room is not None and ranks > self.host_room

    def beyond_a_host(self, ranks: int) -> str:
        """Say what is assumed where processes outnumber a host's processors, and no other host was measured."""
        if self.host_room is None or ranks <= self.host_room or self.between_hosts(ranks):
            return ""
        return f"more ranks than the {self.host_room} processors of a host: as though it had them all"

    def messages(self, step: Messages, outside: bool) -> tuple[Floats, str, str]:
        """Return the draws of the time in s, where it comes from, and what of it is extrapolated."""
        curve = self._ping_pong(outside)
        return step.count * curve.at(step.bytes), curve.name, _beyond(curve, step.bytes)

    def collective(self, step: Collective, outside: bool) -> tuple[Floats, str, str]:
        """Return the same of a collective: as measured, else as a binomial tree of messages."""
        if step.ranks < 2:
            return np.zeros(1 + DRAWS), "", ""
        curve = self._measured(step, outside)
        if curve is not None:
            return step.times * curve.at(step.bytes), curve.name, _beyond(curve, step.bytes)
        ping_pong = self._ping_pong(outside)
        name = f"a tree of messages for {step.benchmark} ({ping_pong.name})"
        tree = step.times * ceil_log2(step.ranks) * ping_pong.at(step.bytes)
        return tree, name, _beyond(ping_pong, step.bytes)

    def _ping_pong(self, outside: bool) -> SizeCurve:
        key = ("mpi.latency", outside)
        if key not in self._curves:
            path = next((path for path in self._paths if path.inside != outside), None)
            self._curves[key] = self._curve_of_path(path) if path else None
        curve = self._curves[key]
        if curve is None:
            way = "between hosts" if outside else "inside a host"
            over = "" if self._transport == "default" else f" transport={self._transport}"
            raise NotMeasuredError(f"mpi.latency{over} was not measured {way}: what a message costs is not known")
        return curve

    def _curve_of_path(self, path: Path) -> SizeCurve | None:
        chosen = {"mode": "standard", "completion": "blocking"}
        found = self._known.of("mpi.latency", "latency_s", path, **chosen)
        return self._curve(f"mpi.latency, {path.name}", found)

    def _measured(self, step: Collective, outside: bool) -> SizeCurve | None:
        names = [OPERATIONS[step.benchmark]] if step.fresh and step.benchmark in OPERATIONS else []
        curves = [self._of_collective(name, step.ranks, outside) for name in [*names, step.benchmark]]
        return next((curve for curve in curves if curve is not None), None)

    def _of_collective(self, benchmark: str, ranks: int, outside: bool) -> SizeCurve | None:
        key = (benchmark, ranks, outside)
        if key not in self._curves:
            found = [
                s
                for s in self._known.of(benchmark, "time_s", memory="cold")
                if s.ranks == ranks and s.transport == self._transport and not _unusual(s)
            ]
            spread = [s for s in found if s.placement.startswith(ONE_PER_HOST)]
            packed = [s for s in found if s not in spread]
            first = spread if outside else packed
            self._curves[key] = self._curve(f"{benchmark} on {ranks} ranks", first or found)
        return self._curves[key]

    def _curve(self, name: str, summaries: list[Summary]) -> SizeCurve | None:
        return curve(name, summaries, self._random) if summaries else None


def curve(name: str, summaries: list[Summary], random: np.random.Generator) -> SizeCurve:
    """Return the times of one or more messages of different sizes; of equal sizes the first counts."""
    by_size: dict[int, Summary] = {}
    for one in summaries:
        by_size.setdefault(int(one.parameters.get("message_bytes", 0)), one)
    sizes = sorted(by_size)
    drawn = np.array([draw(by_size[size], random) for size in sizes])
    return SizeCurve(name, np.array(sizes, dtype=np.float64), drawn)


def _beyond(curve: SizeCurve, message_bytes: float) -> str:
    if not curve.beyond(message_bytes):
        return ""
    return f"messages outside {curve.sizes[0]:.0f} to {curve.sizes[-1]:.0f} B"


def _unusual(summary: Summary) -> bool:
    """Leave out what a plain call does not do: other forms of the call, another root, unequal blocks."""
    usual = {"call": "blocking", "root": 0, "blocks": "equal"}
    return any(summary.parameters.get(name, value) != value for name, value in usual.items())
