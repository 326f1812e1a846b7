"""Further launches: of the cases whose intervals are wide."""

from __future__ import annotations

from hpcscope.plan.case import Key
from hpcscope.plan.further import CHEAP_S, FEWEST_VISITS, MOST_VISITS, VISITS, with_further_launches
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import LAUNCHES, START_S, Launch, Plan, PlannedCase
from hpcscope.plan.seen import Seen, SeenVisit

CASE_S = 0.01


def launch(number: int, *names: str, ranks: int = 2) -> Launch:
    cases = tuple(PlannedCase(name, {}, {"precision": 0.02}) for name in names)
    return Launch(number, ranks, "default", Placement(), cases)


def plan(*names: str) -> Plan:
    return Plan(1, "standard", tuple(launch(number, *names) for number in range(1, LAUNCHES + 1)))


def key(name: str) -> Key:
    only = launch(1, name)
    return only.key(only.cases[0])


def seen(spread: float, visits: int = LAUNCHES, duration_s: float = CASE_S) -> Seen:
    """Visits that differ by so much to either side in turn."""
    numbers = range(1, visits + 1)
    return Seen({number: SeenVisit(duration_s, 1 + spread * (-1) ** number) for number in numbers})


def width(medians_s: list[float]) -> float:
    return (max(medians_s) - min(medians_s)) / 2


def further(before: Plan, told: dict[str, Seen], left_s: float | None = None) -> list[list[str]]:
    """The names of the cases in each further launch."""
    known = {key(name): each for name, each in told.items()}
    after = with_further_launches(before, known, width, left_s)
    assert after.launches[: len(before.launches)] == before.launches
    assert [each.number for each in after.launches] == list(range(1, len(after.launches) + 1))
    return [sorted(case.benchmark for case in each.cases) for each in after.launches[len(before.launches) :]]


def test_no_case_ends_before_it_had_the_fewest_visits() -> None:
    told = {"mpi.a": seen(0.001), "mpi.b": seen(0.001, FEWEST_VISITS)}
    assert further(plan("mpi.a", "mpi.b"), told) == [["mpi.a"]]


def test_wide_cases_are_visited_until_they_had_their_visits() -> None:
    assert further(plan("mpi.a"), {"mpi.a": seen(0.2, VISITS - 1)}) == [["mpi.a"]]
    assert further(plan("mpi.a"), {"mpi.a": seen(0.2, VISITS)}) == []
    assert further(plan("mpi.a"), {"mpi.a": seen(0.001, VISITS - 1)}) == []


def test_a_dear_case_keeps_the_launches_of_the_plan() -> None:
    assert further(plan("mpi.a"), {"mpi.a": seen(0.2, duration_s=2 * CHEAP_S)}) == []


def test_a_case_without_a_result_is_not_tried_again() -> None:
    assert further(plan("mpi.a"), {}) == []
    assert further(plan("mpi.a"), {"mpi.a": Seen({1: SeenVisit(CASE_S, None)})}) == []


def test_what_time_is_left_goes_to_the_widest_quarter() -> None:
    names = [f"mpi.{letter}" for letter in "abcdefgh"]
    told = {name: seen(0.1 * number, VISITS) for number, name in enumerate(names, start=1)}
    assert further(plan(*names), told) == []
    assert further(plan(*names), told, left_s=100.0) == [["mpi.g", "mpi.h"]]


def test_no_round_is_begun_that_does_not_fit_the_time() -> None:
    told = {"mpi.a": seen(0.2)}
    assert further(plan("mpi.a"), told, left_s=START_S + CASE_S + 0.01) == [["mpi.a"]]
    assert further(plan("mpi.a"), told, left_s=START_S + CASE_S - 0.01) == []


def test_a_case_that_stays_wide_gets_no_visits_without_end() -> None:
    assert further(plan("mpi.a"), {"mpi.a": seen(0.2, MOST_VISITS)}, left_s=100.0) == []
