"""What a person hears while a run goes on."""

from __future__ import annotations

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from scope.cli import progress
from scope.cli.progress import Bar, Pace, PlainLines, duration
from scope.plan import plan as planning
from scope.plan.placement import Placement
from scope.plan.plan import Launch, PlannedCase

CASES = tuple(PlannedCase("mpi.latency", {"message_bytes": 8 << i}, {"budget_s": 0.97}) for i in range(10))
CASE = CASES[0]
LAUNCH = Launch(2, 2, "tcp", Placement(), CASES)


def test_the_remaining_time_falls_with_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    pace = Pace(10.0)
    assert pace.left_s == pytest.approx(10.0)
    for _ in range(5):
        pace.pass_visit(LAUNCH, CASE)
        now[0] += 1.0
    assert pace.left_s == pytest.approx(5.0)
    for _ in range(5):
        pace.pass_visit(LAUNCH, CASE)
    assert pace.left_s == pytest.approx(0.0)


def test_a_run_faster_than_its_budgets_is_foreseen_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    pace = Pace(200.0)
    for _ in range(100):
        pace.pass_visit(LAUNCH, CASE)
        now[0] += 0.1
    assert 10.0 < pace.left_s < 30.0


def test_a_log_gets_a_line_per_launch_and_what_went_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    lines = PlainLines(24, Pace(60.0))
    lines.launch_started(LAUNCH, 1, 10)
    lines.case_ended(LAUNCH, CASE, "ok")
    lines.case_ended(LAUNCH, CASE, "crashed")
    lines.launch_ended(LAUNCH, "rank 1 died")
    lines.launch_started(LAUNCH, 2, 1)
    out, errors = capsys.readouterr()
    assert out == ""
    first, second, third, fourth = errors.splitlines()
    assert first == "launch 2 of 24: 2 ranks over tcp, 10 cases, about 60 s left"
    assert second == "launch 2: mpi.latency message_bytes=8: crashed"
    assert third == "launch 2: rank 1 died"
    assert fourth.startswith("launch 2 of 24, attempt 2: 2 ranks over tcp, 1 case, about ")


def test_a_case_that_fails_in_every_visit_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = PlainLines(24, Pace(60.0))
    for status in ("failed", "failed", "ok", "failed"):
        lines.case_ended(LAUNCH, CASE, status)
    lines.case_ended(LAUNCH, CASES[1], "failed")
    reported = capsys.readouterr().err.splitlines()
    assert reported == [f"launch 2: mpi.latency message_bytes={size}: failed" for size in (8, 16)]


def test_a_terminal_gets_a_bar_that_ends_full() -> None:
    screen = Console(record=True, force_terminal=True, width=100)
    with Progress(TextColumn("{task.description}"), console=screen, auto_refresh=False) as drawn:
        bar = Bar(drawn, 24, Pace(planning.START_S + 10 * (0.97 + planning.CASE_OVERHEAD_S)))
        bar.launch_started(LAUNCH, 1, 10)
        for _ in range(10):
            bar.case_ended(LAUNCH, CASE, "ok")
        bar.case_ended(LAUNCH, CASE, "timeout [no markup]")
        bar.launch_ended(LAUNCH, "")
        task = drawn.tasks[0]
        assert task.description == "launch 2 of 24: 2 ranks over tcp, 10 cases"
        assert task.completed == pytest.approx(task.total)
    assert "launch 2: mpi.latency message_bytes=8: timeout [no markup]" in screen.export_text()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (89.0, "89 s"), (120.0, "2 min"), (7260.0, "2 h 1 min")]
)
def test_durations_are_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_planned_time_is_the_sum_of_starts_and_budgets() -> None:
    plan = planning.Plan(1, "baseline", (LAUNCH, LAUNCH))
    each = planning.START_S + 10 * (0.97 + planning.CASE_OVERHEAD_S)
    assert planning.expected_s(plan) == pytest.approx(2 * each)


def test_visits_do_not_lengthen_a_plan() -> None:
    visit = PlannedCase("mpi.latency", {"message_bytes": 8}, {"budget_s": 0.3})
    whole = PlannedCase("mpi.latency", {"message_bytes": 8}, {"budget_s": 0.9})
    launches = [Launch(1, 2, "tcp", Placement(), cases) for cases in ((visit,) * 3, (whole,))]
    thrice, once = (planning.expected_s(planning.Plan(1, "baseline", (launch,))) for launch in launches)
    assert thrice == pytest.approx(once)
