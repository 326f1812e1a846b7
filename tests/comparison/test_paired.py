"""Rounds of two sides that were measured in turn: what they decide, and what they confirm."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.comparison.compare import compare
from hpcscope.comparison.confirm import confirmed, in_question
from hpcscope.comparison.paired import (
    TILTS,
    PairedCase,
    PairedComparison,
    fewest_rounds,
    judged,
    together,
)
from hpcscope.comparison.paired_table import sentence
from tests.comparison.runs import drawn, summary, write


def rounds(random, count, change, noise=0.02):
    return dict(enumerate(np.exp(np.log1p(change) + random.normal(0, noise, count))))


def verdict(ratios, beside=()):
    """Judge a case beside others."""
    found = [together(each, 1 + len(beside), 1.05) for each in (ratios, *beside)]
    return judged(found, ["lower"] * len(found), 0.02)[0][0]


def test_equal_sides_are_decided_and_ten_percent_are_found():
    random = np.random.default_rng(1)
    assert [verdict(rounds(random, 20, 0.0)) for _ in range(20)].count("no difference") >= 18
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
        assert found.count(expected) >= 14
        assert "better" not in found


FURTHER = pytest.mark.slow("further laws of the same study; there, the hardest: a machine of two states")


@pytest.mark.parametrize("law", [*(pytest.param(law, marks=FURTHER) for law in ("normal", "heavy")), "two states"])
def test_no_stopping_makes_more_false_verdicts_than_the_level(law):
    """Equal sides, looked at after every second round: at most 5 % ever look different, and leave 1 out."""
    random = np.random.default_rng(3)
    false, outside, trials = 0, 0, 100
    for _ in range(trials):
        logs = {
            "normal": lambda: random.normal(0, 0.05, 40),
            "heavy": lambda: 0.05 * random.standard_t(2, 40),
            "two states": lambda: random.normal(0, 0.01, 40) + random.choice([-1, 0, 1], 40, p=[0.25, 0.5, 0.25]),
        }[law]()
        ever = [together(dict(enumerate(np.exp(logs[:n]))), 1, 1.05) for n in range(6, 41, 2)]
        false += any(one.change >= 20 for one in ever)
        outside += any(not one.low <= 1 <= one.high for one in ever)
    assert false <= 0.05 * trials + 6
    assert outside <= 0.05 * trials + 6


def test_the_evidence_is_that_of_the_bets():
    """Each of six equal rounds doubles a bet on its sign; half of the money was bet on the other one."""
    found = together(dict.fromkeys(range(6), 1.8), 1, 1.05)
    assert found.change == pytest.approx(np.mean([np.prod([1 + np.tanh(t)] * 6) / 2 for t in TILTS]), rel=0.01)
    assert together(dict.fromkeys(range(12), 1.0), 1, 1.05).change == 1.0


def test_a_case_is_decided_after_six_rounds_and_one_of_twelve_after_ten():
    large = {number: 1.5 + number / 100 for number in range(12)}
    equal = [dict.fromkeys(range(12), 1.0)] * 11
    first = dict(list(large.items())[:6])
    assert fewest_rounds() == 6
    assert verdict(first) == "worse"
    assert verdict(dict(list(large.items())[:5])) == "inconclusive"
    # Others that change, too, need no more rounds than one; others that are not decided do.
    assert verdict(first, [first] * 11) == "worse"
    noisy = [dict(enumerate(np.exp(0.5 * np.random.default_rng(n).normal(size=12)))) for n in range(11)]
    assert verdict(first, noisy) == "inconclusive"
    assert verdict(large, noisy) == "worse"
    assert verdict(large, equal) == "worse"


def test_the_detectable_change_is_found_in_nine_of_ten_and_one_odd_round_does_not_hide_it():
    random = np.random.default_rng(6)

    def seen(ratios):
        return together(ratios, 1, 1.05).detectable

    clean = [rounds(random, 20, 0.0, noise=0.05) for _ in range(30)]
    typical = float(np.median([seen(each) for each in clean]))
    odd = float(np.median([seen(each | {5: 500.0}) for each in clean]))
    assert odd < 2 * typical
    found = [verdict(rounds(random, 20, typical, noise=0.05)) for _ in range(60)]
    assert 45 <= found.count("worse") <= 60
    assert [verdict(rounds(random, 20, typical / 3, noise=0.05)) for _ in range(60)].count("worse") <= 20


def one(verdict_, ratio, number=0, most=0.04):
    case = again(summary(1024 << number, [1e-5] * 6), verdict_, ratio).cases[0]
    return case.model_copy(update={"words": f"allreduce, {1 << number} KiB, 4 ranks", "most": most})


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        ([("worse", 1.8)], "B is 1.8 times slower at allreduce, 1 KiB, 4 ranks (95 % CI 1.8-1.8); "
         "none of the other cases differs by more than 4 %"),
        ([("better", 0.9)], "B is 11.1 % faster at allreduce, 1 KiB, 4 ranks (95 % CI 9.9-12.4 %); "
         "none of the other cases differs by more than 4 %"),
        ([("worse", 1.8), ("better", 0.4)], "B differs in 2 of 5 cases, most at allreduce, 2 KiB, 4 ranks: "
         "2.5 times faster (95 % CI 2.4-2.6); none of the other cases differs by more than 4 %"),
        ([], "none of 3 cases differs by more than 4 %"),
    ],
)  # fmt: skip
def test_the_first_line_says_it_in_one_sentence(cases, said):
    found = [one(verdict_, ratio, number) for number, (verdict_, ratio) in enumerate(cases)]
    found += [one("no difference", 1.0, 5 + number) for number in range(3)]
    comparison = again(summary(8, [1e-5] * 6), "worse", 1.0).model_copy(
        update={"cases": found, "confidence": 0.95}
    )
    assert sentence(comparison) == said
    undecided = comparison.model_copy(update={"cases": [*found, one("inconclusive", 1.0, 9, most=None)]})
    assert sentence(undecided).endswith(f"1 of {len(found) + 1} cases had too few rounds for a verdict")


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
    comparison = compare(left, slower)
    shared = {case.key for case in comparison.cases if case.verdict == "common change"}
    wanted = [key for key in in_question(comparison) if key in shared]
    assert len(wanted) == 8
    assert {{name: value for name, _, value in key[1]}["message_bytes"] for key in wanted} <= set(range(10))
    assert in_question(compare(slower, left)) == []


def test_what_is_inconclusive_is_measured_again_where_it_may_be_worse(tmp_path):
    """A change of 10 % that scatters by 8 %; what scatters as much without one is seldom measured again."""
    random = np.random.default_rng(9)
    wanted, others = 0, 0
    for number in range(20):
        a, b = (drawn(random, 20, 12, 0.08, {}) for _ in range(2))
        b[4] *= 1.1
        sides = [
            write(tmp_path / f"{number}{name}", [summary(n, m) for n, m in enumerate(side)])
            for name, side in (("a", a), ("b", b))
        ]
        comparison = compare(*sides)
        again_ = {{name: value for name, _, value in key[1]}["message_bytes"] for key in in_question(comparison)}
        wanted += 4 in again_
        others += len(again_ - {4})
    assert wanted >= 16
    assert others <= 0.15 * 20 * 19
