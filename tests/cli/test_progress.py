"""What a person hears while a run goes on."""

from __future__ import annotations

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from hpcscope.cli import progress
from hpcscope.cli.progress import Bar, Completion, MachineState, PlainLines, duration
from hpcscope.plan import plan as planning
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import Launch, PlannedCase
from tests import declared
from tests.messages import mentions, numbers

CASES = tuple(PlannedCase("mpi.latency", {"message_bytes": 8 << i}, {"budget_s": 0.97}) for i in range(10))
CASE = CASES[0]
LAUNCH = Launch(2, 2, "tcp", Placement(), CASES)


def launch(number: int, ranks: int = 2, transport: str = "tcp") -> Launch:
    return Launch(number, ranks, transport, Placement(), CASES)


def course(*launches: Launch, unfinished: tuple[Launch, ...] | None = None) -> Completion:
    left = launches if unfinished is None else unfinished
    return Completion(
        declared.catalog(), planning.Plan(1, "baseline", launches), planning.Plan(1, "baseline", left)
    )


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of a clock that only the test moves."""
    moment = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: moment[0])
    return moment


def test_the_remaining_time_falls_with_every_case(now: list[float]) -> None:
    pace = course(LAUNCH).pace
    whole_s = planning.START_S + 10 * (0.97 + planning.CASE_OVERHEAD_S)
    assert pace.left_s == pytest.approx(whole_s)
    for _ in range(5):
        pace.pass_visit(LAUNCH)
        now[0] += whole_s / 10
    assert pace.left_s == pytest.approx(whole_s / 2, rel=0.2)
    pace.pass_launch(LAUNCH)
    assert pace.left_s == 0


def test_each_batch_keeps_its_budgets_in_its_own_way(now: list[float]) -> None:
    slow, fast = (
        (launch(1, transport="tcp"), launch(3, transport="tcp")),
        (launch(2, 1, "default"), launch(4, 1, "default")),
    )
    pace = course(slow[0], fast[0], slow[1], fast[1]).pace
    for one, seconds in ((slow[0], 10.0), (fast[0], 1.0), (slow[1], 10.0)):
        now[0] += seconds
        pace.pass_launch(one)
    assert 0.5 < pace.left_s < 2.5, "what is left is fast"


def test_a_launch_that_failed_is_not_done(now: list[float]) -> None:
    found = course(launch(1), launch(2))
    found.pass_visit(launch(1), CASE)
    found.pass_launch(launch(1), "rank 1 died")
    assert found.done == 1


def test_a_resumed_run_goes_on_counting() -> None:
    rest = Launch(2, 2, "tcp", Placement(), CASES[7:])
    found = course(launch(1), launch(2), launch(3), unfinished=(rest, launch(3)))
    assert (found.done, numbers(found.words)[:2]) == (17, [17, 30])
    found.pass_visit(launch(2), CASES[9])
    assert (found.done, numbers(found.words)[:2]) == (18, [18, 30])


def test_the_state_of_the_machine_is_that_of_the_sentinel() -> None:
    state = MachineState()
    alone, together = launch(1, 1).batch, launch(2, 4).batch
    for _ in range(2):
        state.add(alone, 0.005)
    assert state.words == "", "two tell nothing"
    state.add(alone, 0.005)
    steady = state.words
    assert steady
    for _ in range(5):
        state.add(together, 0.009)
    assert state.words == steady, "four ranks have more to do"
    for duration_s in (0.009, 0.0136, 0.009, 0.0135, 0.0135):
        state.add(together, duration_s)
    assert "1.5" in state.words


def test_a_log_gets_a_line_per_launch_and_what_went_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    lines = PlainLines(course(launch(1), LAUNCH, unfinished=(LAUNCH,)))
    lines.launch_started(LAUNCH, 1, 10)
    for duration_s in (0.005, 0.005, 0.005):
        lines.sentinel_ended(LAUNCH, duration_s)
    lines.case_ended(LAUNCH, CASE, "ok")
    lines.case_ended(LAUNCH, CASES[1], "crashed")
    lines.launch_ended(LAUNCH, "rank 1 died")
    lines.launch_started(LAUNCH, 2, 1)
    out, errors = capsys.readouterr()
    assert out == ""
    first, second, third, fourth = errors.splitlines()
    assert mentions(first, "launch 2 of 2: ... TCP, 10 cases ... 10 of 20 ... s left")
    assert second == "launch 2: ping-pong, 16 B, 2 ranks, TCP: crashed"
    assert third == "launch 2: rank 1 died"
    assert mentions(fourth, "launch 2 of 2, attempt 2: ... TCP, 1 case ... 12 of 20 ... s left, ... machine")


def test_a_case_that_fails_in_every_visit_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = PlainLines(course(LAUNCH))
    for status in ("failed", "failed", "ok", "failed"):
        lines.case_ended(LAUNCH, CASE, status)
    lines.case_ended(LAUNCH, CASES[1], "failed")
    reported = capsys.readouterr().err.splitlines()
    assert reported == [f"launch 2: ping-pong, {size} B, 2 ranks, TCP: failed" for size in (8, 16)]


def test_a_terminal_gets_one_line_with_a_bar_that_ends_full() -> None:
    screen = Console(record=True, force_terminal=True, width=100)
    with Progress(TextColumn("{task.description}"), console=screen, auto_refresh=False) as drawn:
        bar = Bar(drawn, course(launch(1), LAUNCH, unfinished=(LAUNCH,)))
        task = drawn.tasks[0]
        assert (task.completed, task.total) == (10, 20), "it goes on counting"
        bar.launch_started(LAUNCH, 1, 10)
        for case in CASES[:9]:
            bar.case_ended(LAUNCH, case, "ok")
        bar.case_ended(LAUNCH, CASES[9], "timeout [no markup]")
        for _ in range(3):
            bar.sentinel_ended(LAUNCH, 0.005)
        assert mentions(task.fields["left"], "20 of 20 ... s left, ... machine")
        bar.launch_ended(LAUNCH, "")
        assert mentions(task.description, "launch 2 of 2: ... TCP, 10 cases")
        assert task.completed == task.total
    assert "launch 2: ping-pong, 4 KiB, 2 ranks, TCP: timeout [no markup]" in screen.export_text()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (89.0, "89 s"), (120.0, "2 min"), (7260.0, "2 h 1 min")]
)
def test_durations_are_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_planned_time_is_the_sum_of_starts_and_budgets() -> None:
    plan = planning.Plan(1, "baseline", (LAUNCH, LAUNCH))
    each = planning.START_S + 10 * (0.97 + planning.CASE_OVERHEAD_S)
    assert planning.expected_s(plan) == pytest.approx(2 * each)
