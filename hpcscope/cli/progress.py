"""Progress on the standard error: a bar with the remaining time on a terminal, else one line per launch."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from hpcscope.catalog.catalog import Catalog
from hpcscope.launch.supervision.supervisor import Listener
from hpcscope.plan.case import Batch, Case, Key, transport_words
from hpcscope.plan.plan import Launch, Plan, PlannedCase
from hpcscope.report.terminal.console import console
from hpcscope.samples.records import JobRecord, RoundRecord
from hpcscope.units import count

if TYPE_CHECKING:  # not loaded by a run
    from hpcscope.programs.campaign.campaign import Listener as CampaignListener
    from hpcscope.programs.campaign.folder import Head
    from hpcscope.programs.campaign.record import RunRecord

QUIET = {"ok", "unavailable"}
"""Statuses of cases that need no line of their own."""
FEWEST_SENTINELS = 3
"""Fewest measurements of the sentinel that distinguish a state of the machine from an interruption."""
SLOWER = 1.2
"""Smallest slowdown that is shown: smaller factors are the noise of a few measurements."""
REFRESHES_PER_S = 2
"""Few, since drawing takes time from the processors that are measured."""


@contextmanager
def run_progress(catalog: Catalog, plan: Plan, unfinished: Plan) -> Iterator[Listener]:
    """Yield the listener of a run that suits the standard error."""
    screen = console(sys.stderr)
    course = Completion(catalog, plan, unfinished)
    if not screen.is_terminal:
        yield PlainLines(course)
        return
    columns = (BarColumn(bar_width=16), TextColumn("{task.fields[left]}"), TextColumn("{task.description}"))
    with Progress(*columns, console=screen, transient=True, refresh_per_second=REFRESHES_PER_S) as progress:
        yield Bar(progress, course)


@contextmanager
def campaign_progress(head: Head) -> Iterator[CampaignListener]:
    """Yield the listener of a campaign: a bar on a terminal, and one line for each run that failed."""
    screen = console(sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    begin_s = time.monotonic()
    with Progress(
        *columns,
        console=screen,
        transient=True,
        refresh_per_second=REFRESHES_PER_S,
        disable=not screen.is_terminal,
    ) as bar:
        task = bar.add_task("first run", total=head.soak_s if head.kind == "soak" else None)

        def run_ended(record: RunRecord, done: int, total: int | None) -> None:
            if record.status != "ok":
                bar.console.print(f"run {record.number}: {record.status}: {record.reason}", markup=False)
            of = f"{done} of {total} runs" if total else count(done, "run")
            passed = done if total else time.monotonic() - begin_s
            bar.update(task, description=of, completed=passed, total=total or head.soak_s)

        yield run_ended


@contextmanager
def mix_progress() -> Iterator[Callable[[JobRecord | RoundRecord], None]]:
    """Yield the listener of a throughput measurement: a line for each round and each job that failed.

    Between these lines, a terminal shows the job that ended last.
    """
    screen = console(sys.stderr)
    with screen.status("first job in progress") as status:
        jobs = 0

        def ended(record: JobRecord | RoundRecord) -> None:
            nonlocal jobs
            if isinstance(record, RoundRecord):
                took = duration(record.elapsed_s)
                screen.print(f"round {record.round}: {count(jobs, 'job')} ran together in {took}", markup=False)
                jobs = 0
                return
            jobs += record.beside == "mix"
            where = "alone" if record.beside == "nothing" else "in the mix"
            text = f"round {record.round}: {record.job} {where}: {record.status}"
            if record.status != "ok":
                screen.print(f"{text}: {record.reason}", markup=False)
            status.update(escape(text))

        yield ended


@contextmanager
def stage_progress(doing: str = "measuring") -> Iterator[Callable[[str], None]]:
    """Yield a receiver that shows the current stage of the work on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _stage: None
        return
    with console(sys.stderr).status(doing) as status:
        yield lambda stage: status.update(f"{doing}: {stage}")


def link_progress(link: str) -> None:
    """Show on a terminal which link of a lab is being measured; an empty name clears the line."""
    if sys.stderr.isatty():
        text = f"measuring the {link}" if link else ""
        print(f"\r\033[K{text}", end="", file=getattr(sys.stderr, "drawn", sys.stderr), flush=True)


class Pace:
    """The remaining time, from the remaining budgets and how well budgets were kept so far.

    Cases on one process are prepared faster than cases over TCP: each batch has its own ratio of time to budget.
    """

    def __init__(self, unfinished: Plan) -> None:
        self.planned_s = {launch.number: launch.expected_s for launch in unfinished.launches}
        self.batches = {launch.number: launch.batch for launch in unfinished.launches}
        self.share = dict.fromkeys(self.planned_s, 0.0)
        """Fraction of the cases of each launch that are done."""
        self.spent_s: dict[Batch, float] = defaultdict(float)
        self.noted_s = time.monotonic()

    def pass_visit(self, launch: Launch) -> None:
        """Count a case as done."""
        self._pass(launch, self.share.get(launch.number, 0.0) + 1 / len(launch.cases))

    def pass_launch(self, launch: Launch) -> None:
        """Count a launch as done."""
        self._pass(launch, 1.0)

    def _pass(self, launch: Launch, share: float) -> None:
        now_s = time.monotonic()
        self.spent_s[launch.batch] += now_s - self.noted_s
        self.noted_s = now_s
        if launch.number in self.share:
            self.share[launch.number] = min(share, 1.0)

    @property
    def left_s(self) -> float:
        """Seconds that remain."""
        passed_s: dict[Batch, float] = defaultdict(float)
        for number, planned_s in self.planned_s.items():
            passed_s[self.batches[number]] += planned_s * self.share[number]
        # The first cases say little: the plan's own estimate is weighted like a tenth of the plan, at most 10 s.
        own_s = min(10.0, 0.5 + 0.1 * sum(self.planned_s.values()))
        ratio = (sum(self.spent_s.values()) + own_s) / (sum(passed_s.values()) + own_s)
        return sum(
            planned_s * (1 - self.share[number]) * (self.spent_s[batch] + ratio) / (passed_s[batch] + 1.0)
            for number, planned_s in self.planned_s.items()
            for batch in [self.batches[number]]
        )


class MachineState:
    """How fast the machine is now, by the sentinel, whose work is the same throughout a batch."""

    def __init__(self) -> None:
        self.durations_s: dict[Batch, list[float]] = defaultdict(list)
        self.words = ""

    def add(self, batch: Batch, duration_s: float) -> None:
        """Add a measurement of the sentinel."""
        known = self.durations_s[batch]
        known.append(duration_s)
        if len(known) < FEWEST_SENTINELS:
            return
        slower = median(known[-FEWEST_SENTINELS:]) / sorted(known)[len(known) // 10]
        self.words = f"machine {slower:.1f} times slower" if slower >= SLOWER else "machine steady"


class Completion:
    """How far a run has come: cases done, time left, state of the machine. A resumed run continues the count."""

    def __init__(self, catalog: Catalog, plan: Plan, unfinished: Plan) -> None:
        self.catalog = catalog
        self.launches = len(plan.launches)
        self.cases = sum(len(launch.cases) for launch in plan.launches)
        self.left = {(launch.number, launch.key(case)) for launch in unfinished.launches for case in launch.cases}
        self.pace = Pace(unfinished)
        self.machine = MachineState()

    @property
    def done(self) -> int:
        """Cases that are done; a case counts once for each launch."""
        return self.cases - len(self.left)

    def label(self, launch: Launch, case: PlannedCase) -> str:
        """Return the name of a case for people."""
        return Case.of(self.catalog, case.benchmark, case.parameters, launch.batch).label

    def pass_visit(self, launch: Launch, case: PlannedCase) -> None:
        """Count a case as done."""
        self.pace.pass_visit(launch)
        self.left.discard((launch.number, launch.key(case)))

    def pass_launch(self, launch: Launch, failure: str) -> None:
        """Count a launch as done unless it failed: its remaining cases are then tried again."""
        if not failure:
            self.pace.pass_launch(launch)
            self.left = {key for key in self.left if key[0] != launch.number}

    @property
    def words(self) -> str:
        """Cases done, time left and state of the machine."""
        machine = f", {self.machine.words}" if self.machine.words else ""
        return f"{self.done} of {self.cases} cases done, about {duration(self.pace.left_s)} left{machine}"


class PlainLines:
    """A listener that prints one line per launch, for logs and pipes."""

    def __init__(self, course: Completion) -> None:
        self.course = course
        self.failures: set[tuple[int, Key, str]] = set()
        """The failures so far; the same one of the same case of a launch is reported once."""

    def launch_started(self, launch: Launch, attempt: int, cases: int) -> None:
        """Print the launch that starts."""
        self.say(f"{_started(launch, self.course.launches, attempt, cases)}; {self.course.words}")

    def case_ended(self, launch: Launch, case: PlannedCase, status: str) -> None:
        """Print only failures."""
        self.course.pass_visit(launch, case)
        self.move()
        failure = (launch.number, launch.key(case), status)
        if status not in QUIET and failure not in self.failures:
            self.failures.add(failure)
            self.say(f"launch {launch.number}: {self.course.label(launch, case)}: {status}")

    def sentinel_ended(self, launch: Launch, duration_s: float) -> None:
        """Keep the state of the machine for the next line."""
        self.course.machine.add(launch.batch, duration_s)
        self.move()

    def launch_ended(self, launch: Launch, failure: str) -> None:
        """Print only failures."""
        self.course.pass_launch(launch, failure)
        self.move()
        if failure:
            self.say(f"launch {launch.number}: {failure}")

    def values_known(self, lines: Sequence[str]) -> None:
        """Print the first values."""
        for line in lines:
            self.say(f"so far: {line}")

    def say(self, line: str) -> None:
        """Print a line."""
        print(line, file=sys.stderr, flush=True)

    def move(self) -> None:
        """Do nothing: each line already shows how far the run has come."""


class Bar(PlainLines):
    """One live line: launch, a bar that moves with every case, cases done, time left, state of the machine."""

    def __init__(self, progress: Progress, course: Completion) -> None:
        super().__init__(course)
        self.progress = progress
        self.task: TaskID = progress.add_task("starting", total=course.cases, completed=course.done, left="")

    def launch_started(self, launch: Launch, attempt: int, cases: int) -> None:
        """Show the launch that starts."""
        self.progress.update(self.task, description=_started(launch, self.course.launches, attempt, cases))
        self.move()

    def values_known(self, lines: Sequence[str]) -> None:
        """Print the first values above the bar."""
        for line in lines:
            self.progress.console.print(f"so far: {line}", markup=False, highlight=False, style="dim")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.progress.console.print(line, markup=False)

    def move(self) -> None:
        """Advance the bar."""
        self.progress.update(self.task, completed=self.course.done, left=self.course.words)


def duration(seconds: float) -> str:
    """Write a duration for people: 45 s, 3 min, 2 h 10 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _started(launch: Launch, launches: int, attempt: int, cases: int) -> str:
    again = f", attempt {attempt}" if attempt > 1 else ""
    transport = "" if launch.transport == "default" else f" over {transport_words(launch.transport)}"
    ranks = count(launch.ranks, "rank")
    return f"launch {launch.number} of {launches}{again}: {ranks}{transport}, {count(cases, 'case')}"
