"""The calls of a program in the form of benchmarks: grouped by routine, communicator size and message size."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hpcscope.catalog.benchmark import Routine
from hpcscope.programs.profiles.records import Calls, Waits
from hpcscope.programs.profiles.routines import AT_ROOT, kind, plain, starts_request

RECEIVED = "MPI_Recv"
"""The routine whose benchmark gives the cost of a message that a wait completes."""


@dataclass(frozen=True)
class Sums:
    """Calls that differ only in call site and region, or the waits for their requests.

    For routines in `AT_ROOT`, all sizes are merged at their mean, and `size_class` is -1.
    """

    routine: str
    shown: str
    """Name in the report."""
    communicator_size: int
    size_class: int
    calls: int
    bytes: int
    time_s: float
    processes: int
    waited: bool = False
    """Whether these are waits for requests that the routine made."""

    @property
    def measured_as(self) -> str:
        """The calls whose benchmark gives the cost; empty for calls that only start a request."""
        if not self.waited:
            return "" if starts_request(self.routine) else self.shown
        return RECEIVED if kind(self.routine) == "receive" else self.routine


def of_calls(calls: Sequence[Calls]) -> list[Sums]:
    """Return calls by routine, communicator size and message size."""
    return _sums((plain(call.routine), call.calls, call) for call in calls if not call.overflow and call.calls)


def of_waits(waits: Sequence[Waits]) -> list[Sums]:
    """Return waits by routine that made the request, communicator size and message size."""
    made = ((plain(wait.operation), wait.requests, wait) for wait in waits if wait.requests)
    return _sums(made, waited=True)


def _sums(rows: Iterable[tuple[str, int, Calls | Waits]], waited: bool = False) -> list[Sums]:
    """Add up rows of routine name, number of calls, and record."""
    groups: dict[tuple[str, int, int], list[tuple[int, Calls | Waits]]] = defaultdict(list)
    for name, number, row in rows:
        # The size of a block follows only from the root's bytes together with all ranks' calls.
        groups[name, row.communicator_size, -1 if name in AT_ROOT else row.size_class].append((number, row))
    return [
        Sums(
            routine=name,
            shown=f"waits for {name}" if waited else name,
            communicator_size=members,
            size_class=size_class,
            calls=sum(number for number, _ in alike),
            bytes=sum(row.bytes for _, row in alike),
            time_s=sum(row.time_s for _, row in alike),
            processes=max(row.processes for _, row in alike),
            waited=waited,
        )
        for (name, members, size_class), alike in groups.items()
    ]


Group = tuple[str, int]
"""A routine and a communicator size."""


def of_epochs(calls: Sequence[Calls], routines: Iterable[Routine]) -> tuple[list[Sums], set[Group]]:
    """Return one-sided calls merged with their synchronization, and the groups of calls that are part of them.

    A benchmark moves data once per epoch, a program perhaps more often: all bytes of an epoch count as one call.
    Synchronization shared by several routines is divided by the numbers of their calls. Windows on the same number
    of ranks with different synchronization are left out, because it is not known which of them moved data.
    """
    one_sided = [routine for routine in routines if routine.ends_epoch]
    known_ways = {tuple(routine.ends_epoch): routine for routine in one_sided}.values()
    sums: list[Sums] = []
    part: set[Group] = set()
    for members in sorted({call.communicator_size for call in calls}):
        mine = [call for call in calls if call.communicator_size == members and call.calls and not call.overflow]
        moving = _named(mine, {routine.routine for routine in one_sided})
        ways = [way for way in known_ways if _named(mine, way.ends_epoch)]
        if not moving or len(ways) != 1:
            continue
        ending = _named(mine, ways[0].ends_epoch)
        synchronizing = [*ending, *_named(mine, ways[0].begins_epoch)]
        part |= {(plain(routine.routine), members) for routine in [*moving, *synchronizing]}
        for routine in sorted({plain(routine.routine) for routine in moving}):
            own = _named(moving, {routine})
            share = _count(own) / _count(moving)
            sums.append(
                Sums(
                    routine=routine,
                    shown=calls_with(routine, ways[0]),
                    communicator_size=members,
                    size_class=-1,
                    calls=max(1, round(share * _count(ending))),
                    bytes=sum(row.bytes for row in own),
                    time_s=sum(row.time_s for row in own) + share * sum(row.time_s for row in synchronizing),
                    processes=max(row.processes for row in own),
                )
            )
    return sums, part


def calls_with(routine: str, bound: Routine) -> str:
    """Return the name of a routine's calls that includes the synchronization in their benchmark."""
    return f"{routine} with {bound.ends_epoch[0]}" if bound.ends_epoch else routine


def _named(calls: Iterable[Calls], names: Iterable[str]) -> list[Calls]:
    wanted = set(names)
    return [call for call in calls if plain(call.routine) in wanted]


def _count(calls: Iterable[Calls]) -> int:
    return sum(call.calls for call in calls)
