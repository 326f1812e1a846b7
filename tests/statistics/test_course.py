"""States of the machine along a run, from visits of known truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import SentinelRecord
from hpcscope.samples.samples import CaseSamples, Floats, Samples, Times
from hpcscope.statistics.course import course_of
from hpcscope.statistics.figures import between_modes
from tests.draws import draws

CASES, LAUNCHES, REPETITIONS = 30, 18, 8
VISIT_S = 0.05
SENTINEL_S = 0.2
"""From one measurement of the sentinel to the next."""
BEGIN_S = 1_763_712_000.0
LENGTH_S = CASES * LAUNCHES * VISIT_S

Machine = Callable[[float], float]
"""The factor of the machine at a time since the begin of the run."""


def run(
    random: np.random.Generator,
    machine: Machine,
    launch_spread: float = 0.02,
    correlation: float = 0.0,
    concerned: float = 1.0,
) -> Samples:
    """Return a run of cases of different times and noise, on a machine whose speed depends on the time.

    `concerned`: share of the cases that depend on the machine.
    """
    typical = np.exp(random.normal(-10, 3, CASES))
    noise = np.exp(random.normal(-4, 1, CASES))
    common = 0.0
    cases: list[CaseSamples] = []
    now_s = 0.0
    for launch in range(1, LAUNCHES * 2 + 1):
        common = correlation * common + launch_spread * random.normal()
        own = [number for number in range(CASES) if number % 2 == launch % 2]
        for position, number in enumerate(random.permutation(own)):
            speed = machine(now_s) if number < concerned * CASES else 1.0
            factor = np.exp(common + launch_spread * random.normal()) * speed
            times = typical[number] * factor * np.exp(noise[number] * random.standard_t(3, REPETITIONS))
            cases.append(case_of(int(number), launch, position, BEGIN_S + now_s, times))
            now_s += VISIT_S
    return Samples(launches=[], ends=[], cases=cases)


def with_sentinel(
    random: np.random.Generator, samples: Samples, machine: Machine, outliers: float = 0.02
) -> Samples:
    """Add the sentinel of two ranks: its arithmetic follows the machine, now and then something interrupts it."""
    found = []
    for at_s in np.arange(0.0, LENGTH_S, SENTINEL_S):
        slower = machine(at_s) * np.exp(0.02 * random.normal(size=2)) * (1 + 2 * (random.random(2) < outliers))
        found.append(
            SentinelRecord(
                record="sentinel",
                launch=1 + int(at_s / LENGTH_S * LAUNCHES * 2),
                attempt=1,
                started_unix_s=BEGIN_S + at_s,
                duration_s=0.003,
                ranks_kept=[0, 1],
                arithmetic_s=(0.002 * slower).tolist(),
                memory_s=(0.0003 * np.exp(0.05 * random.normal(size=2))).tolist(),
                ping_pong_s=0.0001 * float(np.exp(0.1 * random.standard_t(3))),
            )
        )
    return replace(samples, sentinels=found)


def case_of(number: int, launch: int, position: int, started_unix_s: float, seconds: Floats) -> CaseSamples:
    series = Times(
        cadence="isolated",
        synchronization="none",
        operations=np.ones(seconds.size, dtype=np.int64),
        warmup=np.zeros(seconds.size, dtype=np.bool_),
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
        position=position,
        started_unix_s=started_unix_s,
        duration_s=0.8 * VISIT_S,
        disturbances=None,
        status="ok",
        reason="",
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


def between(begin_s: float, end_s: float, factor: float) -> Machine:
    """Return a machine that is slower for a time."""
    return lambda now_s: factor if begin_s <= now_s < end_s else 1.0


@pytest.mark.parametrize("share", [0.2, 0.5, 0.7])
def test_a_state_that_few_cases_show_is_found_by_the_sentinel(share: float) -> None:
    random = np.random.default_rng(21)
    machine = between(0.1 * LENGTH_S, (0.1 + share) * LENGTH_S, 1.6)
    samples = run(random, machine, concerned=0.2)
    assert len(course_of(samples).states) == 1, "the cases alone do not tell"
    course = course_of(with_sentinel(random, samples, machine))
    assert course.shown_by == "arithmetic"
    assert [state.factor for state in course.states] == [1.0, pytest.approx(1.6, rel=0.1)]
    assert course.states[1].share == pytest.approx(share, abs=0.05)
    assert [state.sentinel_s["arithmetic"] for state in course.states] == pytest.approx([0.002, 0.0032], rel=0.1)


def test_every_visit_is_attributed_to_its_state() -> None:
    random = np.random.default_rng(22)
    for shown_by_cases in (True, False):
        machine = between(0.3 * LENGTH_S, 0.55 * LENGTH_S, 2.0)
        samples = with_sentinel(random, run(random, machine, concerned=1.0 if shown_by_cases else 0.2), machine)
        course = course_of(samples)
        assert (course.shown_by == "cases") == shown_by_cases
        right = [
            course.state_during(visit) == (machine(visit.started_unix_s - BEGIN_S) > 1) for visit in samples.cases
        ]
        assert np.mean(right) > 0.95


def alarms(spread: float, trials: int) -> int:
    random = np.random.default_rng(3)
    runs = (with_sentinel(random, run(random, steady, spread), steady) for _ in range(trials))
    return sum(len(course_of(each).states) > 1 for each in runs)


@pytest.mark.simulation
@draws(15, 50)
@pytest.mark.parametrize("spread", [0.01, 0.05])
def test_a_healthy_machine_has_one_state(spread: float, draws: int) -> None:
    assert alarms(spread, draws) == 0


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
