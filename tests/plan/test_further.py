"""Further launches: of the cases whose figures are the least certain, while there is time."""

from __future__ import annotations

from scope.plan.budget import Seen, SeenVisit
from scope.plan.case import Key
from scope.plan.further import with_further_launches
from scope.plan.placement import Placement
from scope.plan.plan import START_S, Launch, Plan, PlannedCase

CASE_S = 0.2
LAUNCHES = 6


def launch(number: int, *names: str, ranks: int = 2) -> Launch:
    cases = tuple(PlannedCase(name, {}, {"budget_s": 0.1, "precision": 0.02}) for name in names)
    return Launch(number, ranks, "default", Placement(), cases)


def plan(*names: str) -> Plan:
    return Plan(1, "standard", tuple(launch(number, *names) for number in range(1, LAUNCHES + 1)))


def key(name: str) -> Key:
    only = launch(1, name)
    return only.key(only.cases[0])


def seen(spread: float, launches: int = LAUNCHES) -> Seen:
    """Launches that differ by so much to either side in turn."""
    found = Seen()
    for number in range(1, launches + 1):
        found.add(number, SeenVisit(CASE_S, 1 + spread * (-1) ** number, 0.01, True))
    return found


def further(before: Plan, told: dict[str, Seen], left_s: float = 100.0) -> list[list[str]]:
    """The names of the cases in each further launch."""
    known = {key(name): each for name, each in told.items()}
    after = with_further_launches(before, known, LAUNCHES, (1, 1), left_s)
    assert after.launches[: len(before.launches)] == before.launches
    assert [each.number for each in after.launches] == list(range(1, len(after.launches) + 1))
    return [sorted(case.benchmark for case in each.cases) for each in after.launches[len(before.launches) :]]


def test_the_widest_quarter_of_the_uncertain_cases_is_launched_again() -> None:
    names = [f"mpi.{letter}" for letter in "abcdefgh"]
    told = {name: seen(0.1 * number) for number, name in enumerate(names, start=1)}
    assert further(plan(*names), told) == [["mpi.g", "mpi.h"]]


def test_certain_cases_and_those_without_a_result_are_not() -> None:
    assert further(plan("mpi.a"), {"mpi.a": seen(0.001)}) == []
    assert further(plan("mpi.a"), {}) == []
    assert further(plan("mpi.a"), {"mpi.a": seen(0.2)}) == [["mpi.a"]]


def test_no_round_is_begun_that_does_not_fit_the_time() -> None:
    told = {"mpi.a": seen(0.2)}
    assert further(plan("mpi.a"), told, left_s=START_S + CASE_S + 0.01) == [["mpi.a"]]
    assert further(plan("mpi.a"), told, left_s=START_S + CASE_S - 0.01) == []


def test_a_case_that_stays_uncertain_gets_no_launch_without_end() -> None:
    assert further(plan("mpi.a"), {"mpi.a": seen(0.2, launches=4 * LAUNCHES)}) == []


def test_each_visit_of_a_further_launch_has_its_share_of_the_budget() -> None:
    after = with_further_launches(plan("mpi.a"), {key("mpi.a"): seen(0.2)}, LAUNCHES, (1, 3), 100.0)
    assert [case.budget_s for case in after.launches[-1].cases] == [0.0333] * 3
