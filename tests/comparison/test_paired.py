"""Rounds of two sides that were measured in turn: what they decide, and what they confirm."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.comparison.compare import compare
from hpcscope.comparison.confirm import confirmed, in_question
from hpcscope.comparison.paired import LOOKS, PairedCase, PairedComparison, decide, level_of_case, together
from tests.comparison.runs import drawn, summary, write
from tests.messages import mentions


def rounds(random, count, change, noise=0.02):
    return dict(enumerate(np.exp(np.log1p(change) + random.normal(0, noise, count))))


def verdict(ratios, cases=1):
    return decide(together(ratios, cases), len(ratios), "lower", cases, 0.02)[0]


def test_equal_sides_are_decided_and_ten_percent_are_found():
    random = np.random.default_rng(1)
    assert [verdict(rounds(random, 16, 0.0)) for _ in range(20)].count("no difference") >= 18
    assert [verdict(rounds(random, 16, 0.1)) for _ in range(20)].count("worse") == 20
    assert [verdict(rounds(random, 16, -0.1)) for _ in range(20)].count("better") == 20


def test_rounds_in_which_the_machine_changed_its_state_neither_hide_nor_make_a_change():
    """In two of twenty rounds one side met a state that is three times slower."""
    random = np.random.default_rng(2)
    for change, expected in ((0.1, "worse"), (0.0, "no difference")):
        found = []
        for _ in range(20):
            ratios = rounds(random, 20, change)
            ratios[3] *= 3
            ratios[11] /= 3
            found.append(verdict(ratios))
        assert found.count(expected) >= 16
        assert "better" not in found


def test_the_interval_covers_the_truth_at_its_confidence():
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        found = together(rounds(random, 12, 0.05), 1)
        covered += found.low <= 1.05 <= found.high
    assert covered >= 0.98 * 400


def test_the_p_is_the_one_of_all_signs():
    assert together(dict(enumerate(1.1 + np.arange(12) / 100)), 1).p == pytest.approx(2 / 2**12)
    assert together(dict.fromkeys(range(12), 1.0), 1).p == 1.0


def test_the_detectable_change_is_found_in_nine_of_ten_and_one_odd_round_does_not_hide_it():
    random = np.random.default_rng(6)
    clean = [rounds(random, 20, 0.0, noise=0.05) for _ in range(30)]
    typical = float(np.median([together(each, 1).detectable for each in clean]))
    odd = float(np.median([together(each | {5: 500.0}, 1).detectable for each in clean]))
    assert odd < 2 * typical
    found = [verdict(rounds(random, 20, typical, noise=0.05)) for _ in range(60)]
    assert 45 <= found.count("worse") <= 60
    assert [verdict(rounds(random, 20, typical / 3, noise=0.05)) for _ in range(60)].count("worse") <= 20


def test_few_rounds_are_no_verdict_and_more_cases_need_more_rounds():
    large = {number: 2.0 + number / 100 for number in range(LOOKS[0])}
    assert verdict(large) == "worse"
    few = dict(list(large.items())[:11])
    found, reason = decide(together(few, 1), 11, "lower", 1, 0.02)
    assert found == "inconclusive"
    assert mentions(reason, "12 rounds ... 11")
    assert verdict(large, cases=50) == "inconclusive"
    assert level_of_case(50) == pytest.approx(level_of_case(1) / 50)


def again(case, verdict, ratio):
    found = PairedCase(
        a=case.spelling, b=case.spelling, metric=case.metric, unit="s", better="lower", definition=case.definition,
        verdict=verdict, reason="", a_median=1.0, b_median=ratio, ratio=ratio, ratio_low=ratio - 0.01,
        ratio_high=ratio + 0.01, rounds={}, p=0.1, detectable=None,
    )  # fmt: skip
    return PairedComparison(
        format=2, a="a", b="b", level=0.01, confidence=0.99, threshold=0.02, factors=[], rounds=12, elapsed_s=1.0,
        out_of_time=False, cases=[found],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("second", "ratio", "expected", "words"),
    [("worse", 1.1, "worse", "confirmed by measuring again: +10.0 %"),
     ("no difference", 1.0, "inconclusive", "not confirmed: +0.0 %"),
     ("inconclusive", 1.02, "inconclusive", "not confirmed: +2.0 %")],
)  # fmt: skip
def test_a_regression_that_does_not_return_is_none(tmp_path, second, ratio, expected, words):
    random = np.random.default_rng(4)
    a = write(tmp_path / "a", [summary(n, m) for n, m in enumerate(drawn(random, 20, 6, 0.005, {}))])
    b = write(tmp_path / "b", [summary(n, m) for n, m in enumerate(drawn(random, 20, 6, 0.005, {7: 0.1}))])
    comparison = compare(a, b)
    (worse,) = comparison.regressions(0.0)
    assert in_question(comparison) == [worse.key]
    (case,) = [one for one in confirmed(comparison, again(worse, second, ratio)).cases if one.key == worse.key]
    assert case.verdict == expected
    assert case.reason.startswith(words)


def test_of_a_change_that_all_cases_share_the_steadiest_are_measured_again(tmp_path):
    random = np.random.default_rng(5)
    noise = np.repeat([0.002, 0.02], 10)
    a, b = (np.exp(random.normal(0, 1, (20, 6)) * noise[:, None]) for _ in range(2))
    left = write(tmp_path / "a", [summary(number, each) for number, each in enumerate(a)])
    slower = write(tmp_path / "b", [summary(number, 1.3 * each) for number, each in enumerate(b)])
    wanted = in_question(compare(left, slower))
    assert len(wanted) == 8
    assert {{name: value for name, _, value in key[1]}["message_bytes"] for key in wanted} <= set(range(10))
    assert in_question(compare(slower, left)) == []
