"""How a run tells a person where it is: a bar with the remaining time on a terminal, else a line per launch."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from scope.launch.supervision.supervisor import Listener
from scope.plan import plan as planning
from scope.plan.plan import Case, Launch, Plan

MARKS = {"ok": "", "unavailable": ""}


@contextmanager
def listening(plan: Plan, unfinished: Plan) -> Iterator[Listener]:
    """Yield the listener that suits where stderr goes."""
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
    # Drawing takes time from the cores that are measured: twice a second is enough.
    with Progress(*columns, console=console, transient=True, refresh_per_second=2) as progress:
        yield Bar(progress, len(plan.launches), pace)


class Pace:
    """The remaining time, from the budgets that are left and how well budgets were kept so far."""

    def __init__(self, planned_s: float) -> None:
        self.planned_s = max(planned_s, 1e-3)
        self.passed_s = 0.0
        self.started_s = time.monotonic()

    def pass_case(self, case: Case) -> None:
        """Count a case as done."""
        self.passed_s += case.budget_s + planning.CASE_OVERHEAD_S

    def pass_launch(self) -> None:
        """Count a start as done."""
        self.passed_s += planning.START_S

    @property
    def left_s(self) -> float:
        """Seconds that remain."""
        left_s = max(self.planned_s - self.passed_s, 0.0)
        spent_s = time.monotonic() - self.started_s
        # The first cases say little; the plan's own figure is mixed in with the weight of ten seconds.
        return left_s * (spent_s + 10.0) / (self.passed_s + 10.0)


class PlainLines(Listener):
    """One line per launch, for logs and pipes."""

    def __init__(self, launches: int, pace: Pace) -> None:
        self.launches = launches
        self.pace = pace

    def launch_started(self, launch: Launch, attempt: int, cases: int) -> None:
        """Print what is started."""
        again = f", attempt {attempt}" if attempt > 1 else ""
        _print(
            f"launch {launch.number} of {self.launches}{again}: {_batch(launch)}, {_count(cases, 'case')},"
            f" about {duration(self.pace.left_s)} left"
        )

    def case_ended(self, launch: Launch, case: Case, status: str) -> None:
        """Print only what went wrong."""
        self.pace.pass_case(case)
        if status not in MARKS:
            _print(f"launch {launch.number}: {_name(case)}: {status}")

    def launch_ended(self, launch: Launch, trouble: str) -> None:
        """Print only what went wrong."""
        self.pace.pass_launch()
        if trouble:
            _print(f"launch {launch.number}: {trouble}")


class Bar(Listener):
    """A bar that moves with every case."""

    def __init__(self, progress: Progress, launches: int, pace: Pace) -> None:
        self.progress = progress
        self.launches = launches
        self.pace = pace
        self.task: TaskID = progress.add_task("starting", total=pace.planned_s, left="")

    def launch_started(self, launch: Launch, attempt: int, cases: int) -> None:
        """Show what is started."""
        again = f", attempt {attempt}" if attempt > 1 else ""
        text = f"launch {launch.number} of {self.launches}{again}: {_batch(launch)}, {_count(cases, 'case')}"
        self.progress.update(self.task, description=text)

    def case_ended(self, launch: Launch, case: Case, status: str) -> None:
        """Move on; print what went wrong above the bar."""
        self.pace.pass_case(case)
        self._move()
        if status not in MARKS:
            self._say(launch, f"{_name(case)}: {status}")

    def launch_ended(self, launch: Launch, trouble: str) -> None:
        """Move on; print what went wrong above the bar."""
        self.pace.pass_launch()
        self._move()
        if trouble:
            self._say(launch, trouble)

    def _say(self, launch: Launch, trouble: str) -> None:
        self.progress.console.print(f"launch {launch.number}: {trouble}", markup=False)

    def _move(self) -> None:
        left = f"{duration(self.pace.left_s)} left"
        self.progress.update(self.task, completed=min(self.pace.passed_s, self.pace.planned_s), left=left)


def duration(seconds: float) -> str:
    """Write a duration for people: 45 s, 3 min, 2 h 10 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _name(case: Case) -> str:
    return f"{case.benchmark} {case.settings}".strip()


def _batch(launch: Launch) -> str:
    transport = "" if launch.transport == "default" else f" over {launch.transport}"
    return f"{_count(launch.ranks, 'rank')}{transport}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
