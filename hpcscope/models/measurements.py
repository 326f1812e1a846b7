"""The inputs of models: the results of a run, its machine, its launches and its catalog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from hpcscope.catalog.benchmark import Pattern
from hpcscope.catalog.catalog import Catalog, Settings, Standing
from hpcscope.grouping import grouped
from hpcscope.machine.host_names import HostNames
from hpcscope.machine.machine import Host, Machine
from hpcscope.plan.case import Batch, Case
from hpcscope.samples.records import LaunchRecord
from hpcscope.statistics.summary import Summary, headlines


@dataclass(frozen=True)
class Measurements:
    """Everything that a run measured, with the catalog of its benchmarks."""

    summaries: Sequence[Summary]
    machine: Machine
    launches: list[LaunchRecord]
    catalog: Catalog

    @cached_property
    def headlines(self) -> list[Summary]:
        """The results above zero, under the headline definitions of their metrics."""
        return [case for case in headlines(self.summaries) if case.median]

    @cached_property
    def oversubscribed(self) -> frozenset[Batch]:
        """The batches with more ranks than processors on some host: models do not use them."""
        return oversubscribed(self.machine, self.launches)

    def is_oversubscribed(self, case: Case) -> bool:
        """Return whether the ranks of a case had to share processors."""
        return case.batch in self.oversubscribed

    def standing(self, pattern: Pattern, layer: str, unit: str, free: Iterable[str] = ()) -> Iterator[On]:
        """Yield the results in a unit on the rungs of a layer; `free` parameters may have any value."""
        allowed = tuple(free)
        for place in self.catalog.standing(pattern, layer):
            for case in self.headlines:
                if (case.benchmark, case.unit) != (place.benchmark.name, unit) or not place.shows(case.metric):
                    continue
                if place.holds(case.parameters, allowed):
                    yield On(place, case)

    def calling(self, routine: str, level: str = "mpi", free: Iterable[str] = ()) -> Iterator[Summary]:
        """Yield the times of cases that call an MPI routine as a plain program does; `free` as in `standing`."""
        allowed = tuple(free)
        for bound in self.catalog.bound_to(routine, level):
            metric = self.catalog.time_metric(bound.benchmark.name)
            for case in self.headlines:
                if (case.benchmark, case.metric) != (bound.benchmark.name, metric):
                    continue
                if bound.holds(case.parameters, allowed):
                    yield case

    def back_to_back(self, case: Summary) -> Summary:
        """Return the result of the same operation back to back; the case itself if that was not measured.

        The root of an operation may run ahead of the other ranks: a program does not see such back-to-back times.
        """
        if self.catalog[case.benchmark].parameter.get("root"):
            return case
        return self._back_to_back.get((case.samples_key, case.metric), case)

    @cached_property
    def _back_to_back(self) -> dict[tuple[object, str], Summary]:
        streaming = (s for s in self.summaries if s.definition == "streaming" and s.valid and s.median)
        return {(case.samples_key, case.metric): case for case in streaming}

    def of(self, benchmark: str, metric: str, settings: Settings | None = None) -> list[Summary]:
        """Return the results of a benchmark's metric with these parameters, as far as the benchmark has them."""
        wanted = settings or {}
        return [
            case
            for case in self.headlines
            if (case.benchmark, case.metric) == (benchmark, metric)
            and all(case.parameters.get(name, value) == value for name, value in wanted.items())
        ]

    def size(self, case: Case) -> int:
        """Return the size of a case's problem or message; 0 if it is not a single number."""
        return self.catalog.size(case.benchmark, case.parameters) or 0

    def message_bytes(self, case: Summary) -> float:
        """Return the bytes of a message: a size in bytes, else the declared payload of each rank."""
        declared = self.catalog[case.benchmark].parameter
        sizes = self.catalog.of_role(case.benchmark, case.parameters, "size")
        in_bytes = [float(value) for name, value in sizes.items() if declared[name].unit == "B"]
        if in_bytes:
            return in_bytes[0]
        return case.work.bytes / case.ranks if case.work else 0.0

    def hosts(self, case: Case) -> list[str]:
        """Return the host of each rank of a case, from a launch that ran it; empty if no launch did."""
        launch = next((record for record in self.launches if record.batch == case.batch), None)
        return [p.host for p in sorted(launch.processes, key=lambda p: p.rank)] if launch else []


@dataclass(frozen=True)
class On:
    """A result on a rung."""

    place: Standing
    summary: Summary


def benchmarks_of(places: Iterable[Standing]) -> str:
    """Return the benchmarks that declare these rungs, in words: `node.stream or node.copy`."""
    return " or ".join(dict.fromkeys(place.benchmark.name for place in places))


def by_rung(ons: Iterable[On]) -> list[list[Summary]]:
    """Return the results of each rung, in the order in which the benchmarks declare their rungs."""
    rungs = grouped(ons, lambda on: (on.place.benchmark.name, on.place.benchmark.rungs.index(on.place.rung)))
    return [[on.summary for on in rungs[rung]] for rung in sorted(rungs)]


def oversubscribed(machine: Machine, launches: Iterable[LaunchRecord]) -> frozenset[Batch]:
    """Return the batches of the launches with more ranks than processors on some host."""
    host_called = finder(machine)
    return frozenset(
        launch.batch
        for launch in launches
        for host, processes in Counter(p.host for p in launch.processes).items()
        if (room := usable(host_called(host))) is not None and processes > room
    )


def finder(machine: Machine) -> Callable[[str], Host | None]:
    """Return a function that finds a host of a machine by a name in a record; of equal names, the first host."""
    names = HostNames(host.name for host in machine.hosts)
    hosts = {host.name: host for host in reversed(machine.hosts)}
    return lambda name: hosts.get(names.find(name) or "")


def short_names(machine: Machine) -> Callable[[str], str]:
    """Return a function that shortens the name of a host in a record, as far as it remains unique."""
    names = HostNames(host.name for host in machine.hosts)
    return lambda name: names.short(names.find(name) or name)


def shared_processors(machine: Machine) -> int | None:
    """Return how many processors all hosts of a lab share; None if that is not known."""
    return max((count for host in machine.hosts if (count := usable(host)) is not None), default=None)


def usable(host: Host | None) -> int | None:
    """Return how many processors the run may use on a host; None if that is not known."""
    return host.processor.usable_processors if host is not None and host.processor.usable else None
