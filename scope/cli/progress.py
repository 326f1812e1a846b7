"""Progress on the standard error: a bar with the remaining time on a terminal, else one line per launch."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from scope.campaign.campaign import Listener as CampaignListener
from scope.campaign.folder import Head
from scope.campaign.record import RunRecord
from scope.launch.supervision.supervisor import Listener
from scope.plan import plan as planning
from scope.plan.case import Key
from scope.plan.plan import Launch, Plan, PlannedCase

QUIET = {"ok", "unavailable"}
"""Statuses of cases that need no line of their own."""
REFRESHES_PER_S = 2
"""Drawing takes time from the processors that are measured."""


@contextmanager
def run_progress(plan: Plan, unfinished: Plan) -> Iterator[Listener]:
    """Yield the listener of a run that suits the standard error."""
    console = Console(stderr=True, highlight=False)
    pace = Pace(planning.expected_s(unfinished))
    if not console.is_terminal:
        yield PlainLines(len(plan.launches), pace)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[left]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, refresh_per_second=REFRESHES_PER_S) as progress:
        yield Bar(progress, len(plan.launches), pace)


@contextmanager
def campaign_progress(head: Head) -> Iterator[CampaignListener]:
    """Yield the listener of a campaign: a bar on a terminal, and one line for each run that failed."""
    screen = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    begin_s = time.monotonic()
    with Progress(
        *columns,
        console=screen,
        transient=True,
        refresh_per_second=REFRESHES_PER_S,
        disable=not screen.is_terminal,
    ) as bar:
        task = bar.add_task("the first run", total=head.soak_s if head.kind == "soak" else None)

        def run_ended(record: RunRecord, done: int, total: int | None) -> None:
            if record.status != "ok":
                bar.console.print(f"run {record.number}: {record.status}: {record.reason}", markup=False)
            of = f"{done} of {total} runs" if total else _count(done, "run")
            passed = done if total else time.monotonic() - begin_s
            bar.update(task, description=of, completed=passed, total=total or head.soak_s)

        yield run_ended


@contextmanager
def stage_progress() -> Iterator[Callable[[str], None]]:
    """Yield a receiver that shows the current stage of a discovery on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _stage: None
        return
    with Console(stderr=True).status("measuring") as status:
        yield lambda stage: status.update(f"measuring: {stage}")


def link_progress(link: str) -> None:
    """Show on a terminal which link of a lab is being measured; none with an empty name."""
    if sys.stderr.isatty():
        text = f"measuring the {link}" if link else ""
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


class Pace:
    """The remaining time, from the budgets that are left and how well budgets were kept so far."""

    def __init__(self, planned_s: float) -> None:
        self.planned_s = max(planned_s, 1e-3)
        self.passed_s = 0.0
        self.started_s = time.monotonic()

    def pass_visit(self, launch: Launch, case: PlannedCase) -> None:
        """Count a visit to a case as done."""
        self.passed_s += launch.expected_s(case)

    def pass_launch(self) -> None:
        """Count the start of a launch as done."""
        self.passed_s += planning.START_S

    @property
    def left_s(self) -> float:
        """Seconds that remain."""
        left_s = max(self.planned_s - self.passed_s, 0.0)
        spent_s = time.monotonic() - self.started_s
        # The first cases say little; the plan's own estimate counts like ten seconds of them.
        return left_s * (spent_s + 10.0) / (self.passed_s + 10.0)


class Failures:
    """The failures so far: a case that fails in each visit of a launch is reported once."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, Key, str]] = set()

    def is_new(self, launch: Launch, case: PlannedCase, status: str) -> bool:
        """Take in a visit; return whether it is a failure that was not reported yet."""
        failure = (launch.number, launch.key(case), status)
        known = status in QUIET or failure in self._seen
        self._seen.add(failure)
        return not known


class PlainLines(Listener):
    """One line per launch, for logs and pipes."""

    def __init__(self, launches: int, pace: Pace) -> None:
        self.launches = launches
        self.pace = pace
        self.failures = Failures()

    def launch_started(self, launch: Launch, attempt: int, cases: int) -> None:
        """Print the launch that starts."""
        _print(f"{_started(launch, self.launches, attempt, cases)}, about {duration(self.pace.left_s)} left")

    def case_ended(self, launch: Launch, case: PlannedCase, status: str) -> None:
        """Print only failures."""
        self.pace.pass_visit(launch, case)
        if self.failures.is_new(launch, case, status):
            _print(f"launch {launch.number}: {_name(case)}: {status}")

    def launch_ended(self, launch: Launch, failure: str) -> None:
        """Print only failures."""
        self.pace.pass_launch()
        if failure:
            _print(f"launch {launch.number}: {failure}")


class Bar(Listener):
    """A bar that moves with every case."""

    def __init__(self, progress: Progress, launches: int, pace: Pace) -> None:
        self.progress = progress
        self.launches = launches
        self.pace = pace
        self.failures = Failures()
        self.task: TaskID = progress.add_task("starting", total=pace.planned_s, left="")

    def launch_started(self, launch: Launch, attempt: int, cases: int) -> None:
        """Show the launch that starts."""
        self.progress.update(self.task, description=_started(launch, self.launches, attempt, cases))

    def case_ended(self, launch: Launch, case: PlannedCase, status: str) -> None:
        """Advance the bar; print failures above it."""
        self.pace.pass_visit(launch, case)
        self._move()
        if self.failures.is_new(launch, case, status):
            self._print(launch, f"{_name(case)}: {status}")

    def launch_ended(self, launch: Launch, failure: str) -> None:
        """Advance the bar; print failures above it."""
        self.pace.pass_launch()
        self._move()
        if failure:
            self._print(launch, failure)

    def _print(self, launch: Launch, failure: str) -> None:
        self.progress.console.print(f"launch {launch.number}: {failure}", markup=False)

    def _move(self) -> None:
        left = f"{duration(self.pace.left_s)} left"
        self.progress.update(self.task, completed=min(self.pace.passed_s, self.pace.planned_s), left=left)


def duration(seconds: float) -> str:
    """Write a duration for people: 45 s, 3 min, 2 h 10 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _started(launch: Launch, launches: int, attempt: int, cases: int) -> str:
    again = f", attempt {attempt}" if attempt > 1 else ""
    transport = "" if launch.transport == "default" else f" over {launch.transport}"
    ranks = _count(launch.ranks, "rank")
    return f"launch {launch.number} of {launches}{again}: {ranks}{transport}, {_count(cases, 'case')}"


def _name(case: PlannedCase) -> str:
    return f"{case.benchmark} {case.settings}".strip()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
