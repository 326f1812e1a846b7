"""How the time of a run is divided over its cases."""

from __future__ import annotations

import pytest

from scope.plan.budget import DEAR, Seen, SeenVisit, divided, one_visit_is_enough, with_budgets
from scope.plan.placement import Placement
from scope.plan.plan import LONGEST_BUDGET_S, SHORTEST_BUDGET_S, START_S, Launch, PlannedCase

GIVEN_S = 0.1


def launch(number: int, *names: str) -> Launch:
    cases = tuple(PlannedCase(name, {}, {"budget_s": GIVEN_S, "precision": 0.02}) for name in names)
    return Launch(number, 2, "default", Placement(), cases)


def seen(
    interval: float,
    converged: bool = False,
    medians: tuple[float | None, ...] = (None,),
    over_s: float = 0.03,
    visits: int = 1,
) -> Seen:
    taken_s = 0.01 if converged else GIVEN_S + over_s
    found = Seen()
    for launch, median_s in enumerate(medians, start=1):
        for _ in range(visits):
            found.add(launch, SeenVisit(taken_s / visits, median_s, interval * visits**0.5, converged))
    return found


def shares(left_s: float, launches: int = 4, **cases: Seen) -> dict[str, float]:
    to_come = [launch(number, *cases) for number in range(1, launches + 1)]
    told = {to_come[0].key(case): cases[case.benchmark] for case in to_come[0].cases}
    budgets = divided(to_come, told, {}, left_s)
    return {case.benchmark: case.budget_s for case in with_budgets(to_come[0], budgets, told).cases}


def test_time_goes_where_the_intervals_are_wide() -> None:
    budgets = shares(4 * (START_S + 2 * 0.03 + 0.6), one=seen(0.2), other=seen(0.1))
    assert budgets["one"] == pytest.approx(2 * budgets["other"], rel=0.02)
    assert sum(budgets.values()) == pytest.approx(0.6, rel=0.02)


def test_no_case_gets_more_than_its_interval_needs() -> None:
    budgets = shares(1000.0, one=seen(0.04), other=seen(0.5))
    # Half the interval takes four times the time.
    assert budgets["one"] == pytest.approx(4 * GIVEN_S, rel=0.02)
    assert budgets["other"] == LONGEST_BUDGET_S


def test_launches_that_differ_make_a_narrow_interval_within_them_needless() -> None:
    unsteady = seen(0.04, medians=(1.0, 1.2, 0.8))
    assert shares(1000.0, one=unsteady)["one"] < 4 * GIVEN_S


def test_a_case_that_becomes_tight_ends_by_itself_and_leaves_its_time_to_others() -> None:
    left_s = 4 * (START_S + 0.03 + 0.5)
    alone = shares(left_s, one=seen(0.5))
    beside = shares(left_s, one=seen(0.5), quick=seen(0.01, converged=True))
    assert beside["quick"] == pytest.approx(0.03)
    assert beside["one"] == pytest.approx(alone["one"] - 0.01, rel=0.02)


def test_without_time_every_case_still_gets_the_shortest() -> None:
    assert shares(0.0, one=seen(0.5), other=seen(0.1)) == {"one": SHORTEST_BUDGET_S, "other": SHORTEST_BUDGET_S}


def test_what_nobody_has_seen_keeps_its_budget() -> None:
    assert divided([launch(1, "one")], {}, {}, 10.0) == {}
    assert with_budgets(launch(1, "one"), {}, {}) == launch(1, "one")


def test_dear_preparations_are_paid_before_anything_is_shared() -> None:
    cheap = shares(4 * (START_S + 1.0), one=seen(0.5))
    dear = shares(4 * (START_S + 1.0), one=seen(0.5, over_s=0.5))
    assert dear["one"] == pytest.approx(cheap["one"] - 0.47, rel=0.03)


def test_visits_together_are_worth_one_visit_of_their_length() -> None:
    apart, burst = seen(0.2, visits=4), seen(0.2)
    assert apart.relative_interval == pytest.approx(burst.relative_interval)
    assert apart.duration_s == pytest.approx(burst.duration_s)
    assert shares(1.0, one=apart) == pytest.approx(shares(1.0, one=burst))


def test_the_visits_of_a_launch_share_its_budget() -> None:
    twice = launch(2, "one", "other", "one", "other")
    one = next(iter(twice.positions))
    given = with_budgets(twice, {one: 0.4}, {})
    assert [case.budget_s for case in given.cases] == [0.2, GIVEN_S, 0.2, GIVEN_S]


def test_a_dear_case_is_visited_once_and_gets_the_whole_budget() -> None:
    twice = launch(2, "dear", "cheap", "dear", "cheap")
    (dear, cheap) = twice.positions
    told = {dear: seen(0.2, over_s=2 * DEAR * GIVEN_S), cheap: seen(0.2)}
    assert one_visit_is_enough(told[dear], twice, dear)
    assert not one_visit_is_enough(told[cheap], twice, cheap)
    assert [case.budget_s for case in with_budgets(twice, {}, told).cases] == [0.2, 0.1, 0.2, 0.1]


def test_a_visit_holds_at_least_one_operation() -> None:
    twice = launch(2, "one", "one")
    (case,) = twice.positions
    assert not one_visit_is_enough(seen(0.2, medians=(0.9 * GIVEN_S,)), twice, case)
    assert one_visit_is_enough(seen(0.2, medians=(1.1 * GIVEN_S,)), twice, case)
    assert not one_visit_is_enough(seen(0.2, medians=(1.1 * GIVEN_S,)), launch(1, "one", "one"), case)
    assert not one_visit_is_enough(None, twice, case)
