"""Runs the launches of a plan, and loses at most one case whatever happens to a launch.

Only this module knows about time limits, restarts and resuming. A case that exceeds its limit, or whose launch
dies, gets a record that names the ranks that did not arrive; the remaining cases go on in a new attempt.
"""

import logging
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Protocol

from hpcscope.clock import unix_s
from hpcscope.errors import InterruptedRunError, OutOfTimeError, ScopeError, UsageError
from hpcscope.launch import processes
from hpcscope.launch.diagnosis import Death, diagnose, kills_for_lack_of_memory
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import Command, MpiProgram
from hpcscope.launch.schedulers import Deadline
from hpcscope.launch.shortage import hindrance, shortage
from hpcscope.launch.supervision.journal import Journal, unwritable
from hpcscope.launch.supervision.progress import Watch
from hpcscope.launch.supervision.rank_states import missing_ranks, named, rank_states
from hpcscope.plan import plan as planning
from hpcscope.plan.case import Batch
from hpcscope.plan.place import Place
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import Launch, Plan, PlannedCase
from hpcscope.rundirectory import RunDirectory, write_text
from hpcscope.samples.records import CaseRecord, RankState, Status

POLL_S = 0.1
"""Interval of checking whether to stop, while nothing is measured."""
PROGRESS_S = 0.5
"""Interval of reading progress: not shorter than ranks write it, since watching takes time of measured hosts."""
SHORT_START_S = 15.0
"""Time limit of a start on a host that is short of a resource."""
FRUITLESS_ATTEMPTS = 3
MOST_HANGS = 2
"""Hangs of a benchmark after which its other cases are not tried."""
APART_S = 1.0
"""Least time between visits: closer visits to a case share 37 % of their deviations, others 4 to 9 %."""
SMALLEST_ROOM_BYTES = 64 * 1024
BAD_PLAN, NO_OUTPUT, NO_RESOURCE = 2, 3, 4
"""Exit codes of the native program."""


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """How long each part of a launch may take before it is ended."""

    start_s: float = 60.0
    """Limit from mpiexec to the first record of the launch: connecting and synchronizing clocks."""
    case_s: float | None = None
    """Per case; None: 20 times the budget of the case, at least 30 s."""
    end_s: float = 15.0
    """Limit from the last case to the end of mpiexec: all records are written; some MPIs hang in MPI_Finalize."""

    def of(self, case: PlannedCase) -> float:
        """Return the limit of one case."""
        return self.case_s if self.case_s is not None else max(30.0, 20 * case.budget_s)


class Listener(Protocol):
    """Is notified of the progress of a plan."""

    def launch_started(self, launch: Launch, attempt: int, cases: int) -> None:
        """Note that mpiexec was started for this many cases."""

    def case_ended(self, launch: Launch, case: PlannedCase, status: str) -> None:
        """Note that a case has its record."""

    def sentinel_ended(self, launch: Launch, duration_s: float) -> None:
        """Note how long the sentinel took, whose work is the same throughout a launch."""

    def launch_ended(self, launch: Launch, failure: str) -> None:
        """Note that an attempt has ended; `failure` is empty when all went well."""

    def values_known(self, lines: Sequence[str]) -> None:
        """Note the values of the samples so far, one per line."""


@dataclass(frozen=True)
class Ending:
    """How an attempt ended."""

    code: int | None
    """Exit code of mpiexec; None when it was ended from outside."""
    death: Death
    ranks: list[RankState]
    seconds: float
    """Time since the current case (or the launch) began."""


@dataclass
class Supervisor:
    """Runs a plan in a run directory."""

    run: RunDirectory
    program: str
    command: Callable[[MpiProgram, Placement], Command]
    place: Place
    limits: Limits
    origin: str = "measured"
    deadline: Deadline | None = None
    job_end_s: float = 0.0
    """How much earlier than this process the ranks may hear that their batch job ends."""
    inherited: tuple[int, ...] = ()
    """File descriptors that stay open while the launcher lives."""
    meanwhile: Iterator[object] = field(default_factory=lambda: iter(()))
    """Work in short steps; none begins once a rank of the launch has written its first record."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Ends the run as an interrupt would; set by another thread, the one that receives interrupts."""
    journal: Journal = field(init=False)
    _listener: Listener = field(init=False)
    _began_s: dict[Batch, float] = field(default_factory=dict)
    """When the last launch of each batch began."""
    _unstartable: set[Batch] = field(default_factory=set)
    """Batches whose launch did not start at all."""
    _shortage: str = ""
    """What this host was short of before the last attempt."""

    def __post_init__(self) -> None:
        self.journal = Journal.rebuilt(self.run)

    def supervise(self, plan: Plan, listener: Listener) -> bool:
        """Run the cases of a plan that have no record; return whether every case is well.

        Raises InterruptedRunError when asked to stop and ScopeError when the run cannot go on, for example because
        the disk is full; the run directory is valid and resumable after either.
        """
        self._listener = listener
        try:
            for launch in plan.launches:
                self._run_launch(plan, launch)
        except KeyboardInterrupt:
            raise InterruptedRunError("interrupted") from None
        except OSError as error:
            raise unwritable(error.filename or self.run.path, error) from error
        return not self.journal.failed

    @property
    def spent_s(self) -> float:
        """The time that all cases and launches so far took, in s."""
        return self.journal.spent_s + planning.START_S * len(self.journal.opened)

    def unfinished(self, plan: Plan) -> Plan:
        """Return the plan of the visits that remain."""
        return unfinished(plan, self.journal)

    def _with_warmup(self, launch: Launch) -> Launch:
        """Return the launch, its cases warmed up as at their first visits."""
        self.journal.read()

        def learned(case: PlannedCase) -> PlannedCase:
            seen = self.journal.seen.get(launch.key(case))
            return case if seen is None else replace(case, sampling={**case.sampling, "warmup": seen.warmup})

        return replace(launch, cases=tuple(map(learned, launch.cases)))

    def _keep_apart(self, batch: Batch) -> None:
        """Wait until the last launch of a batch is so long ago that new visits are independent of its visits."""
        while (left_s := self._began_s.get(batch, -inf) + APART_S - time.monotonic()) > 0:
            self._stop_if_asked()
            time.sleep(min(left_s, POLL_S))
        self._began_s[batch] = time.monotonic()

    def _run_launch(self, plan: Plan, launch: Launch) -> None:
        fruitless = FRUITLESS_ATTEMPTS - 1 if launch.batch in self._unstartable else 0
        attempt = self._next_attempt(launch)
        self._skip_fatal_cases(launch, attempt)
        while todo := remaining(launch, self.journal):
            ending = self._attempt(plan, launch, attempt, todo)
            self._raise_if_final(ending, begun=(launch.number, attempt) in self.journal.opened)
            left = [position for position in todo if (launch.number, position) not in self.journal.statuses]
            if left and (launch.number, attempt) in self.journal.opened:
                self._record(launch, attempt, left[0], *self._verdict(ending), ending)
            elif len(left) == len(todo):
                fruitless += 1
            if fruitless == FRUITLESS_ATTEMPTS:
                self._unstartable.add(launch.batch)
                while left := remaining(launch, self.journal):
                    reason = f"did not start: {ending.death.text}"
                    self._record(launch, attempt, left[0], "crashed", reason, ending)
            attempt += 1
            self._skip_fatal_cases(launch, attempt)

    def _attempt(self, plan: Plan, launch: Launch, attempt: int, todo: list[int]) -> Ending:
        """Start the native program for these cases and watch it until it has ended; complete the journal."""
        self._stop_if_asked()
        self._keep_apart(launch.batch)
        samples_bytes = self.run.samples.stat().st_size if self.run.samples.exists() else 0
        folder = self.run.launch(launch.number, attempt)
        folder.mkdir(parents=True)
        write_text(folder / "plan.txt", planning.write_attempt(plan, self._with_warmup(launch), todo))
        progress = folder / "progress"
        command = self.command(self._program(launch, attempt, folder, progress), launch.placement)
        self._shortage = shortage(min(launch.ranks, max(self.place.slots)))
        self._listener.launch_started(launch, attempt, len(todo))
        kills = kills_for_lack_of_memory()
        with Watch(progress) as watch, launch_environment(command.environment) as variables:
            process = self._started(command.arguments, variables, folder)
            try:
                ending = self._watch(process, launch, attempt, todo, watch)
            finally:
                processes.end(process, lambda: processes.with_argument(watch.argument))
                self.journal.complete(samples_bytes)
            if ending.code not in (None, 0, 1):
                # A batch system that ends a job also ends its ranks, perhaps first; the case is not to blame.
                time.sleep(self.job_end_s)
            if ending.code is not None:
                ending = self._diagnosed(ending, folder, launch, watch, kills_for_lack_of_memory() > kills)
        self._listener.launch_ended(launch, "" if ending.code in (0, 1) else ending.death.text)
        return ending

    def _started(self, arguments: list[str], variables: dict[str, str], folder: Path) -> subprocess.Popen[bytes]:
        try:
            with (folder / "stdout.txt").open("wb") as stdout, (folder / "stderr.txt").open("wb") as stderr:
                return subprocess.Popen(
                    arguments,
                    env=variables,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                    pass_fds=self.inherited,
                )
        except OSError as error:
            raise UsageError(f"{arguments[0]}: does not start: {error.strerror}") from error

    def _watch(
        self, process: subprocess.Popen[bytes], launch: Launch, attempt: int, todo: list[int], watch: Watch
    ) -> Ending:
        """Wait for the end of mpiexec, or for a limit to be exceeded."""
        advanced_s = time.monotonic()
        reported, sentinels = 0, len(self.journal.sentinels)
        while True:
            code = process.poll()
            now_s = time.monotonic()
            if code is None:
                self._stop_if_asked()
            if self.journal.read():
                advanced_s = now_s
            watch.read(now_s)
            done = [position for position in todo if (launch.number, position) in self.journal.statuses]
            for position in done[reported:]:
                status = self.journal.statuses[launch.number, position]
                self._listener.case_ended(launch, launch.cases[position], status)
            reported = len(done)
            for _, duration_s in self.journal.sentinels[sentinels:]:
                self._listener.sentinel_ended(launch, duration_s)
            sentinels = len(self.journal.sentinels)
            waited_s = now_s - advanced_s
            if code is not None:
                return Ending(code, Death(""), [], waited_s)
            if waited_s > (limit_s := self._limit(launch, attempt, todo[len(done) :])):
                overdue = Death(self._overdue(launch, attempt, limit_s))
                return Ending(None, overdue, self._ranks(launch, watch), waited_s)
            if (launch.number, attempt) in self.journal.opened or next(self.meanwhile, None) is None:
                processes.await_end(process, PROGRESS_S)

    def _stop_if_asked(self) -> None:
        if self.stop.is_set():
            raise KeyboardInterrupt
        if self.deadline is not None and time.time() >= self.deadline.unix_s:
            raise OutOfTimeError(self.deadline.reason)

    def _limit(self, launch: Launch, attempt: int, left: list[int]) -> float:
        if (launch.number, attempt) not in self.journal.opened:
            return min(self.limits.start_s, SHORT_START_S) if self._shortage else self.limits.start_s
        return self.limits.of(launch.cases[left[0]]) if left else self.limits.end_s

    def _overdue(self, launch: Launch, attempt: int, limit_s: float) -> str:
        if (launch.number, attempt) not in self.journal.opened:
            return f"no rank wrote a record within {limit_s:g} s"
        return f"not finished within {limit_s:g} s"

    def _ranks(self, launch: Launch, watch: Watch, death: Death | None = None) -> list[RankState]:
        """Return where each rank was, by its last heartbeat and, on this host, the state of its process."""
        now_s = time.monotonic()
        watch.read(now_s)
        here = os.uname().nodename
        states = {
            rank: processes.state(slot.pid, watch.argument)
            for rank, slot in watch.slots.items()
            if slot.host == here
        }
        silence_s = {rank: now_s - seen_s for rank, seen_s in watch.seen_s.items()}
        return rank_states(launch.ranks, watch.slots, silence_s, states, death)

    def _diagnosed(
        self, ending: Ending, folder: Path, launch: Launch, watch: Watch, lacked_memory: bool
    ) -> Ending:
        """Return the ending of a launch that ended by itself, with the cause that its launcher printed.

        `lacked_memory`: whether the kernel of this host killed a process during the launch.
        """
        output = "\n".join((folder / name).read_text(errors="replace") for name in ("stderr.txt", "stdout.txt"))
        death = named(diagnose(output), watch.slots, watch.ended())
        if lacked_memory and death.signal == signal.SIGKILL and death.host in (None, os.uname().nodename):
            death = death.by_kernel()
        return replace(ending, death=death, ranks=self._ranks(launch, watch, death))

    def _raise_if_final(self, ending: Ending, *, begun: bool) -> None:
        """Raise if another attempt would end in the same way; `begun`: whether there is a record of this one."""
        if self._shortage and not begun and ending.code not in (BAD_PLAN, NO_OUTPUT, NO_RESOURCE):
            raise ScopeError(f"no rank began: {self._shortage}; the launcher said: {ending.death.text}")
        if ending.code in (None, 0, 1):
            return
        # The mpiexec of MPICH returns the number of a signal, which is not an exit code of the program.
        code = ending.code if ending.death.signal is None else None
        if code == NO_OUTPUT or ending.death.disk_full:
            full = shutil.disk_usage(self.run.path).free < SMALLEST_ROOM_BYTES
            raise ScopeError(ending.death.no_room(str(self.run.samples), full))
        if code == NO_RESOURCE:
            raise ScopeError(ending.death.text)
        if ending.code == BAD_PLAN and "plan" in ending.death.text:
            raise ScopeError(ending.death.text)

    def _verdict(self, ending: Ending) -> tuple[Status, str]:
        """Return status and reason of the case during which an attempt ended."""
        here = ending.death.host in (None, os.uname().nodename)
        parts = [ending.death.text, hindrance(ending.death.signal == signal.SIGBUS) if here else ""]
        if ending.code is None:
            parts.insert(1, missing_ranks(ending.ranks))
        return "timeout" if ending.code is None else "crashed", "; ".join(filter(None, parts))

    def _record(
        self, launch: Launch, attempt: int, position: int, status: Status, reason: str, ending: Ending | None
    ) -> None:
        """Write the record of a case that the native program could not write."""
        case = launch.cases[position]
        seconds = ending.seconds if ending else 0.0
        record = CaseRecord(
            record="case",
            launch=launch.number,
            attempt=attempt,
            position=position,
            benchmark=case.benchmark,
            parameters=case.parameters,
            ranks=launch.ranks,
            status=status,
            reason=reason,
            started_unix_s=unix_s() - seconds,
            duration_s=seconds,
            rank_states=ending.ranks if ending else [],
        )
        self.journal.append(record)
        self._listener.case_ended(launch, case, status)

    def _skip_fatal_cases(self, launch: Launch, attempt: int) -> None:
        """Record as unavailable the cases that ended an earlier launch, and those of benchmarks that hang."""
        for position in remaining(launch, self.journal):
            case = launch.cases[position]
            hangs = self.journal.hangs[case.benchmark]
            if earlier := self.journal.fatal.get(launch.key(case)):
                self._record(launch, attempt, position, "unavailable", f"not repeated: {earlier}", None)
            elif hangs >= MOST_HANGS:
                reason = f"not run: {hangs} cases of this benchmark did not end"
                self._record(launch, attempt, position, "unavailable", reason, None)

    def _program(self, launch: Launch, attempt: int, folder: Path, progress: Path) -> MpiProgram:
        return MpiProgram(
            path=self.program,
            arguments=(
                "--action=run",
                f"--plan={folder / 'plan.txt'}",
                f"--output={self.run.samples}",
                f"--journal={self.run.journal}",
                f"--progress={progress}",
                f"--launch={launch.number}",
                f"--attempt={attempt}",
                f"--origin={self.origin}",
                f"--transport={launch.transport}",
                f"--placement={launch.placement}",
            ),
            ranks=launch.ranks,
            transport=launch.transport,
            oversubscribed=self.place.oversubscribes(launch.ranks, launch.placement),
            exit_codes=True,
        )

    def _next_attempt(self, launch: Launch) -> int:
        attempt = 1
        while self.run.launch(launch.number, attempt).exists():
            attempt += 1
        return attempt


def unfinished(plan: Plan, journal: Journal) -> Plan:
    """Return the plan of the visits that remain."""
    left = [replace(old, cases=tuple(old.cases[i] for i in remaining(old, journal))) for old in plan.launches]
    return replace(plan, launches=tuple(launch for launch in left if launch.cases))


def remaining(launch: Launch, journal: Journal) -> list[int]:
    """Return the positions of a launch that remain to be visited: those that have no record yet."""
    return [at for at in range(len(launch.cases)) if (launch.number, at) not in journal.statuses]
