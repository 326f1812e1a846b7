"""The launches of a simulated plan: several at a time, then again the cases whose buffers did not fit.

A simulation is one process, however many ranks it has. Launches that compute never run at the same time, since
their computation is timed on this machine. Cases that are refused for lack of memory are simulated again with the
memory of all launches, and those that only send messages at last with one buffer shared by all ranks.
"""

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

from hpcscope.catalog.catalog import read as read_catalog
from hpcscope.engine.progress import RunProgress
from hpcscope.engine.run import begun_run
from hpcscope.engine.simulate.request import Request
from hpcscope.errors import InterruptedRunError, ScopeError
from hpcscope.launch import preload
from hpcscope.launch.launcher import Command, MpiProgram
from hpcscope.launch.supervision.journal import Journal, writing
from hpcscope.launch.supervision.supervisor import Listener, Supervisor
from hpcscope.locks import hold
from hpcscope.machine.discover import this_host
from hpcscope.machine.memory import available_bytes
from hpcscope.plan.case import Key
from hpcscope.plan.place import Place
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import Launch
from hpcscope.private import temporary_folder
from hpcscope.rundirectory import RunDirectory, note_checksums, write_bytes
from hpcscope.signals import STOP_RUN, as_interrupt
from hpcscope.simulation import library_rules
from hpcscope.simulation.start import FEW_RANKS, MOST_SHARED_BYTES, Simulator

SHARE_OF_MEMORY = 0.8
"""Fraction of the free memory of this machine for all simulations that run at a time."""
BYTES_OF_RANK = 3.5e6
"""Memory that a simulated rank needs with small buffers; it limits how many launches run at a time."""
LACKS_MEMORY = re.compile(r"the buffers need (\d+) MB of memory on this host; available")
"""Matches the native program's reason for refusing a case whose buffers do not fit."""


@dataclass(frozen=True)
class SimulatedOutcome:
    """How the simulation of a plan ended."""

    well: bool
    sharing: frozenset[tuple[int, Key]]
    """Launch and key of each case whose ranks shared memory for lack of room, so that no data were verified."""


def carried_out(directory: RunDirectory, request: Request, progress: RunProgress) -> SimulatedOutcome:
    """Simulate the plan of a run that was begun.

    Raises InterruptedRunError when asked to stop and ScopeError when the run cannot go on; the run keeps what was
    simulated before.
    """
    lock = hold(directory.path)
    with as_interrupt(*STOP_RUN), temporary_folder("simulation") as scratch:
        begun_run.note_status(directory, "running")
        try:
            with progress(read_catalog(directory.benchmarks), request.plan, request.plan) as listener:
                launches = Launches(directory, request, InTurn(listener), lock, scratch)
                launches.simulate()
            begun_run.note_status(directory, "finished")
        except ScopeError as error:
            begun_run.note_early_end(directory, error)
            raise
    note_checksums(directory.path, [directory.platform])
    return SimulatedOutcome(not Journal.rebuilt(directory).failed, frozenset(launches.sharing))


@dataclass
class InTurn:
    """Notifies a listener of the events of several launches, one after the other."""

    listener: Listener
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __getattr__(self, name: str) -> Callable[..., None]:
        def tell(*event: object) -> None:
            with self._lock:
                getattr(self.listener, name)(*event)

        return tell


@dataclass(frozen=True)
class Start:
    """How a launch of a simulated run is started."""

    directory: RunDirectory
    request: Request
    launch: Launch
    scratch: Path
    memory_bytes: float
    shares_memory: bool

    def __call__(self, program: MpiProgram, placement: Placement) -> Command:
        """Return the command of a program, with its ranks placed as they were when it was measured."""
        request, launch = self.request, self.launch
        filled = request.hosts
        room = list(dict.fromkeys(filled)) if placement.one_per_host else filled
        hosts = request.hosts_of.get(launch.batch) or room
        if self.shares_memory:
            program = replace(program, arguments=(*program.arguments, "--share-memory=yes"))
        simulator = simulated_cluster(
            self.directory, request, hosts, launch.ranks, self.scratch, self.memory_bytes, self.shares_memory
        )
        return simulator.command(
            program,
            self.directory.launches / f"hosts-{launch.number}.txt",
            request.computes(launch),
            short=request.is_short(launch),
            environment=self._collectives(program, hosts),
        )

    def _collectives(self, program: MpiProgram, hosts: Sequence[str]) -> Mapping[str, str]:
        """Return the variables that tell the collectives linked into every simulated program what to do."""
        asked = preload.settings(program.transport, self.directory.topology)
        rules = self.request.rules
        if asked or rules is None or program.ranks > FEW_RANKS:
            return asked
        file = self.scratch / f"hosts-{self.launch.number}.toml"
        return library_rules.environment(rules, hosts[: program.ranks], file)


def simulated_cluster(
    directory: RunDirectory,
    request: Request,
    hosts: Sequence[str],
    ranks: int,
    scratch: Path,
    memory_bytes: float,
    shares_memory: bool = False,
) -> Simulator:
    """Return the simulated cluster of a run with its ranks on these hosts."""
    return Simulator(
        smpirun=request.build.mpi.launcher,
        platform=directory.platform,
        hosts=hosts,
        selector=request.selector,
        most_bytes=int(memory_bytes),
        host_speed=request.speed_here(ranks),
        scratch=scratch,
        shares_memory=shares_memory,
    )


@dataclass
class Launches:
    """The launches of a plan; each has a run directory of its own until it is done."""

    directory: RunDirectory
    request: Request
    listener: Listener
    lock: int
    scratch: Path
    sharing: set[tuple[int, Key]] = field(default_factory=set)
    _stop: threading.Event = field(default_factory=threading.Event)

    def simulate(self) -> None:
        """Simulate all launches; raises as `carried_out` does."""
        memory_bytes = memory(self.request)
        turns = list(in_turn(self.request))
        most = max(launch.ranks for launch in self.request.plan.launches)
        together = at_a_time(len(turns), most, memory_bytes)
        try:
            self._at_once(turns, together, memory_bytes)
            for launch in self.request.plan.launches:
                if together > 1:
                    self._again(launch, memory_bytes)
                if not self.request.computes(launch):
                    self._again(launch, memory_bytes, shares_memory=True)
        except KeyboardInterrupt:
            raise InterruptedRunError("interrupted") from None
        finally:
            for launch in self.request.plan.launches:
                self._take_over(launch)

    def _at_once(self, turns: Sequence[Sequence[Launch]], together: int, all_bytes: float) -> None:
        """Simulate some turns at a time, each with its share of the memory.

        The first error, or an interrupt, ends them all. Cases that need more than all of the memory are simulated
        with a shared buffer right away, since nothing else would make them fit.
        """
        memory_bytes = all_bytes / together

        def simulate(turn: Sequence[Launch]) -> None:
            for launch in turn:
                self._supervise(launch, memory_bytes, self.request.options.share_memory)
            for launch in turn:  # while those that compute, which take the longest, still run
                if not self.request.computes(launch):
                    self._again(launch, memory_bytes, shares_memory=True, needing_bytes=all_bytes)

        with ThreadPoolExecutor(together) as pool:
            running = [pool.submit(simulate, turn) for turn in turns]
            try:
                wait(running, return_when=FIRST_EXCEPTION)
            finally:
                # If all went well, nothing is left to stop.
                self._stop.set()
                for future in running:
                    future.cancel()
        self._stop.clear()
        errors = [error for future in running if not future.cancelled() and (error := future.exception())]
        for error in sorted(errors, key=lambda error: isinstance(error, InterruptedRunError)):
            raise error

    def _again(
        self, launch: Launch, memory_bytes: float, shares_memory: bool = False, needing_bytes: float = 0.0
    ) -> None:
        """Simulate again the cases refused for lack of memory that need more than `needing_bytes`.

        Cases whose buffers are too large even to be shared stay refused.
        """
        part = self._part(launch)
        records = list(_records(part))
        needs = {one["position"]: lacking_bytes(one.get("reason", "")) for _, one in records if "position" in one}
        most_bytes = MOST_SHARED_BYTES if shares_memory else inf
        refused = {position for position, need in needs.items() if needing_bytes < need <= most_bytes}
        if not refused:
            return
        write_bytes(part.samples, b"".join(line for line, one in records if one.get("position") not in refused))
        if shares_memory:
            self.sharing |= {(launch.number, launch.key(launch.cases[position])) for position in refused}
        self._supervise(launch, memory_bytes, shares_memory)

    def _supervise(self, launch: Launch, memory_bytes: float, shares_memory: bool) -> None:
        request = self.request
        shares_memory = shares_memory and not request.computes(launch)
        part = self._part(launch)
        part.path.mkdir(parents=True, exist_ok=True)
        supervisor = Supervisor(
            run=part,
            program=request.build.program,
            command=Start(self.directory, request, launch, self.scratch, memory_bytes, shares_memory),
            place=Place(tuple(Counter(request.hosts).values())),
            limits=request.limits,
            inherited=(self.lock,),
            origin="simulated",
            stop=self._stop,
        )
        supervisor.supervise(replace(request.plan, launches=(launch,)), self.listener)

    def _part(self, launch: Launch) -> RunDirectory:
        return RunDirectory(self.directory.launches / f"{launch.number:04d}")

    def _take_over(self, launch: Launch) -> None:
        """Move the results of a launch into the run."""
        part = self._part(launch)
        if not part.path.is_dir():
            return
        for folder in sorted(part.launches.iterdir()) if part.launches.is_dir() else []:
            folder.rename(self.directory.launches / folder.name)
        for theirs, ours in (
            (part.samples, self.directory.samples),
            (part.cut_samples, self.directory.cut_samples),
        ):
            if theirs.exists():
                with writing(ours) as file:
                    file.seek(0, os.SEEK_END)
                    file.write(theirs.read_bytes())
        for file in (part.samples, part.journal, part.cut_samples):
            file.unlink(missing_ok=True)
        for folder in (part.launches, part.path):
            if folder.is_dir():
                folder.rmdir()


def memory(request: Request) -> float:
    """Return how many bytes of memory all simulations of a plan may use together."""
    # Not every system tells how much memory is available.
    free = min(available_bytes(), this_host().memory_bytes)
    return request.options.memory_bytes or free * SHARE_OF_MEMORY


def at_a_time(turns: int, ranks: int, memory_bytes: float) -> int:
    """Return how many simulations run at a time: one per core, if the memory suffices."""
    room = int(memory_bytes // (ranks * BYTES_OF_RANK))
    return max(1, min(turns, len(os.sched_getaffinity(0)), room))


def lacking_bytes(reason: str) -> float:
    """Return the bytes that the buffers of a refused case need; 0 if lack of memory was not the reason."""
    match = LACKS_MEMORY.search(reason)
    return float(match[1]) * 1e6 if match else 0.0


def in_turn(request: Request) -> Iterator[Sequence[Launch]]:
    """Yield sequences of launches, longest first: one of all that compute, and one for each other launch."""
    launches = request.plan.launches
    free = [[launch] for launch in launches if not request.computes(launch)]
    computing = [launch for launch in launches if request.computes(launch)]
    turns = [*([computing] if computing else []), *free]
    yield from sorted(turns, key=lambda turn: -sum(launch.ranks * len(launch.cases) for launch in turn))


def _records(part: RunDirectory) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield the lines of a launch's samples, each with its record."""
    if part.samples.exists():
        for line in part.samples.read_bytes().splitlines(keepends=True):
            yield line, json.loads(line)
