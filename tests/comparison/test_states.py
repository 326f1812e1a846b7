"""A change of the machine's state between two runs is no regression of a case."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from hpcscope.comparison.compare import compare
from hpcscope.comparison.comparison import ComparedCase, Comparison
from hpcscope.comparison.table import states_differ
from hpcscope.report.comparison.page import render
from hpcscope.samples.samples import Floats
from hpcscope.statistics.course import Course, State
from tests import golden_run
from tests.comparison.runs import course, drawn, summary, write

CASES = 6
"""Too few for a common change."""


def compared(tmp_path: Path, a: tuple[Floats, Course | None], b: tuple[Floats, Course | None]) -> Comparison:
    """Compare runs of (launch medians, course); launches beyond 1.3 times the fastest ran in the slow state."""
    folders = []
    for name, (medians, known) in (("a", a), ("b", b)):
        summaries = []
        for number, row in enumerate(medians):
            slow = row > 1.3 * row.min()
            several = known is not None and len(known.states) > 1
            states = [float(np.median(row[~slow])), float(np.median(row[slow]))] if several and slow.any() else []
            told = slow.astype(int).tolist() if states else []
            summaries.append(summary(number, row, state_medians=states, launch_states=told))
        folders.append(write(tmp_path / name, summaries, course=known))
    return compare(*folders)


def only(comparison: Comparison, number: int) -> ComparedCase:
    return next(case for case in comparison.cases if case.parameters["message_bytes"] == number)


def mixed(random: np.random.Generator, slow: int, factor: float, steps: dict[int, float]) -> Floats:
    """Return eight launches for each case, the last of them in a slow state."""
    medians: Floats = drawn(random, CASES, 8, 0.003, steps)
    medians[:, 8 - slow :] *= factor
    return medians


def test_another_state_for_a_whole_run_is_known_by_the_sentinel(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    a, b = drawn(random, CASES, 8, 0.003, {}), drawn(random, CASES, 8, 0.003, {0: 0.5, 1: 0.4, 2: 4.0, 3: -0.3})
    comparison = compared(tmp_path, (a, course(2e-3)), (b, course(3e-3)))
    assert [only(comparison, number).verdict for number in (0, 1)] == ["states differ"] * 2
    assert {"arithmetic", "1.5", "B"} <= set(re.findall(r"[\w.]+", only(comparison, 0).reason))
    assert only(comparison, 2).verdict == "worse", "four times as long is more than the state explains"
    assert only(comparison, 3).verdict == "better", "a slower machine makes nothing faster"
    assert "arithmetic 1.5" in states_differ(comparison)
    assert "states differ" in render(comparison)


@pytest.mark.parametrize(
    ("variables", "arguments", "verdict"),
    [
        ({}, "", "states differ"),
        ({"OMPI_MCA_btl": "tcp,self"}, "", "worse"),
        ({}, '"--mca", "btl", "tcp"', "worse"),
    ],
    ids=["alike", "variables", "arguments"],
)
def test_messages_sent_in_another_way_are_no_state_of_the_machine(
    tmp_path: Path, variables: dict[str, str], arguments: str, verdict: str
) -> None:
    random = np.random.default_rng(1)
    for side, ping_pong_s, slower in (("a", 1e-6, {}), ("b", 2e-5, {0: 19.0})):
        rows = [summary(number, row) for number, row in enumerate(drawn(random, CASES, 8, 0.003, slower))]
        state = State(factor=1.0, share=1.0, sentinel_s={"arithmetic": 2e-3, "ping-pong": ping_pong_s})
        machine = golden_run.machine() | {"environment": variables if side == "b" else {}}
        write(tmp_path / side, rows, machine, course().model_copy(update={"states": [state]}))
        launcher = f"[launcher]\narguments = [{arguments if side == 'b' else ''}]\n"
        (tmp_path / side / "experiment.toml").write_text(launcher)
    assert only(compare(tmp_path / "a", tmp_path / "b"), 0).verdict == verdict


def test_without_a_sentinel_or_in_one_state_a_regression_is_one(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    a, b = drawn(random, CASES, 8, 0.003, {}), drawn(random, CASES, 8, 0.003, {0: 0.5})
    for number, courses in enumerate([(None, None), (course(), course()), (None, course())]):
        comparison = compared(tmp_path / str(number), (a, courses[0]), (b, courses[1]))
        assert comparison.states is None
        assert only(comparison, 0).verdict == "worse"


@pytest.mark.parametrize("slow_in_a", [0, 1])
def test_a_run_that_spent_more_time_in_a_slow_state_is_compared_in_equal_states(
    tmp_path: Path, slow_in_a: int
) -> None:
    random = np.random.default_rng(3)
    a, b = mixed(random, slow_in_a, 2.0, {}), mixed(random, 7, 2.0, {})
    comparison = compared(
        tmp_path, (a, course(slow_share=slow_in_a / 8)), (b, course(slow_share=7 / 8, factor=2.0))
    )
    assert comparison.counts["states differ"] == CASES
    assert all("equal machine states" in case.reason for case in comparison.cases)


def test_a_regression_in_equal_states_remains_one(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    a, b = mixed(random, 1, 2.0, {}), mixed(random, 7, 2.0, {2: 0.2})
    comparison = compared(tmp_path, (a, course(slow_share=1 / 8)), (b, course(slow_share=7 / 8)))
    assert [case.parameters["message_bytes"] for case in comparison.cases if case.verdict == "worse"] == [2]


def test_what_has_no_dimension_has_no_factor_between_states() -> None:
    timed = summary(8, [1e-6] * 6, state_medians=[1e-6, 2e-6])
    assert timed.state_factor == pytest.approx(2)
    rate = summary(8, [1e6] * 6, state_medians=[2e6, 1e6], definition="observed", unit="1/s", better="higher")
    assert rate.state_factor == pytest.approx(2)
    deviation = summary(8, [1e-6] * 6, state_medians=[1e-16, 1e-6], definition="observed", unit="")
    assert (deviation.state_factor, deviation.state_mixture) == (None, False)
