"""States of the machine along a run, from visits of known truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from scope.plan.case import Case
from scope.plan.placement import Placement
from scope.samples.samples import CaseSamples, Floats, Samples, Times, Visit
from scope.statistics.course import course_of
from scope.statistics.modality import between_modes

CASES, LAUNCHES, VISITS, REPETITIONS = 30, 6, 3, 8
VISIT_S = 0.05
BEGIN_S = 1_763_712_000.0
LENGTH_S = CASES * LAUNCHES * VISITS * VISIT_S

Machine = Callable[[float], float]
"""The factor of the machine at a time since the begin of the run."""


def run(
    random: np.random.Generator, machine: Machine, launch_spread: float = 0.02, correlation: float = 0.0
) -> Samples:
    """Return a run of cases of different times and noise, on a machine whose speed depends on the time."""
    typical = np.exp(random.normal(-10, 3, CASES))
    noise = np.exp(random.normal(-4, 1, CASES))
    common = 0.0
    cases: list[CaseSamples] = []
    now_s = 0.0
    for launch in range(1, LAUNCHES * 2 + 1):
        common = correlation * common + launch_spread * random.normal()
        own = [number for number in range(CASES) if number % 2 == launch % 2]
        visits: dict[int, list[tuple[Visit, Floats]]] = {number: [] for number in own}
        for position, number in enumerate(each for _ in range(VISITS) for each in random.permutation(own)):
            factor = np.exp(common + launch_spread * random.normal()) * machine(now_s)
            times = typical[number] * factor * np.exp(noise[number] * random.standard_t(3, REPETITIONS))
            visits[number].append((Visit(position, BEGIN_S + now_s, 0.8 * VISIT_S), times))
            now_s += VISIT_S
        cases += [case_of(number, launch, taken) for number, taken in visits.items()]
    return Samples(launches=[], ends=[], cases=cases)


def case_of(number: int, launch: int, taken: list[tuple[Visit, Floats]]) -> CaseSamples:
    seconds = np.concatenate([times for _, times in taken])
    series = Times(
        cadence="isolated",
        synchronization="none",
        operations=np.ones(seconds.size, dtype=np.int64),
        warmup=np.zeros(seconds.size, dtype=np.bool_),
        visit=np.repeat(np.arange(len(taken)), REPETITIONS),
        ranks_kept=np.arange(1),
        elapsed_s=seconds[None, :],
        entry_s=None,
        valid=np.ones(seconds.size, dtype=np.bool_),
        observed={},
        extremes=None,
    )
    case = Case(
        benchmark="node.test",
        parameters={"number": number},
        ranks=1,
        transport="default",
        placement=Placement(),
        label=f"case {number}",
    )
    return CaseSamples(
        case=case,
        origin="measured",
        launch=launch,
        attempt=1,
        visits=[visit for visit, _ in taken],
        status="ok",
        reason="",
        stopped="budget",
        relative_interval=None,
        verification=None,
        work=None,
        times=[series],
        rank_states=[],
        synchronization=None,
        clock_step_s=0.0,
    )


def steady(_now_s: float) -> float:
    return 1.0


@pytest.mark.parametrize("factor", [1.3, 3.0])
@pytest.mark.parametrize("share", [0.15, 0.5, 0.8])
def test_two_states_are_found_with_their_factor_share_and_times(factor: float, share: float) -> None:
    random = np.random.default_rng(1)
    begin, end = 0.1 * LENGTH_S, (0.1 + share) * LENGTH_S
    course = course_of(run(random, lambda now_s: factor if begin <= now_s < end else 1.0))
    assert [state.factor for state in course.states] == [1.0, pytest.approx(factor, rel=0.05)]
    assert course.states[1].share == pytest.approx(share, abs=0.04)
    assert course.changes == 2
    slow = course.periods[1]
    assert slow.state == 1
    assert slow.begin_unix_s - BEGIN_S == pytest.approx(begin, abs=0.05 * LENGTH_S)
    assert slow.end_unix_s - BEGIN_S == pytest.approx(end, abs=0.05 * LENGTH_S)
    assert course.state_at(BEGIN_S + (begin + end) / 2) == 1
    assert course.state_at(BEGIN_S) == course.state_at(BEGIN_S + 2 * LENGTH_S) == 0


def test_a_machine_that_changes_often_is_followed() -> None:
    course = course_of(run(np.random.default_rng(2), lambda now_s: 2.0 if now_s % 6 < 2.5 else 1.0))
    assert course.changes == pytest.approx(2 * LENGTH_S / 6, abs=2)
    assert course.states[1].factor == pytest.approx(2.0, rel=0.1), "some moments hold visits in both states"


def alarms(spread: float, trials: int) -> int:
    random = np.random.default_rng(3)
    return sum(len(course_of(run(random, steady, spread)).states) > 1 for _ in range(trials))


@pytest.mark.parametrize("spread", [0.01, 0.05])
def test_a_healthy_machine_has_one_state(spread: float) -> None:
    assert alarms(spread, 50) == 0


def test_a_machine_that_drifts_has_one_state() -> None:
    course = course_of(run(np.random.default_rng(4), lambda now_s: float(np.exp(0.5 * now_s / LENGTH_S))))
    assert len(course.states) == 1


def test_too_little_says_nothing() -> None:
    whole = run(np.random.default_rng(5), steady)
    few = Samples(launches=[], ends=[], cases=[one for one in whole.cases if one.case.parameters["number"] == 1])
    assert course_of(few).states == []
    assert course_of(Samples(launches=[], ends=[], cases=[])).periods == []


def test_launches_that_are_alike_are_noticed_and_others_are_not() -> None:
    random = np.random.default_rng(6)
    alike = sum(course_of(run(random, steady, 0.05, correlation=0.97)).launches_dependent for _ in range(20))
    others = sum(course_of(run(random, steady, 0.05)).launches_dependent for _ in range(20))
    assert alike >= 10
    assert others <= 3


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 1.1, 1.05, 3.0, 3.1, 3.05], True),
        ([1.0, 1.1, 1.05, 1.07, 3.1, 3.05], False),
        ([1.0, 1.2, 1.4, 1.6, 1.8, 2.0], False),
        ([1.0, 1.0, 1.0, 1.05, 1.05, 1.05], False),
        ([1.0, 1.1, 1.05, 3.0, 3.1], False),
    ],
)
def test_few_medians_have_a_gap_or_not(values: list[float], expected: bool) -> None:
    assert between_modes(np.array(values)) == expected


def test_a_median_between_two_modes_is_known_from_one_in_a_mode() -> None:
    random = np.random.default_rng(7)
    for share, expected in ((0.5, True), (0.3, False), (0.0, False)):
        low = random.random(400) >= share
        values = np.where(low, 1.0, 3.0) * np.exp(0.05 * random.normal(size=400))
        if share == 0.5:
            values = np.where(np.arange(400) % 2 == 0, 1.0, 3.0) * np.exp(0.05 * random.normal(size=400))
        assert between_modes(values) == expected


@pytest.mark.parametrize("count", [6, 8, 12, 60, 500])
def test_a_single_mode_has_no_gap(count: int) -> None:
    random = np.random.default_rng(8)
    laws = (random.lognormal(0, 0.5, (500, count)), random.exponential(1, (500, count)))
    found = sum(between_modes(row) for law in laws for row in law)
    assert found / 1000 < 0.02
