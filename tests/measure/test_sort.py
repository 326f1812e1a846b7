"""Parallel sorting by regular sampling: any number of items, ranks, ties and NaN; every check seen to fail."""

from __future__ import annotations

from itertools import product

import pytest

from tests.measure.conftest import Measure
from tests.messages import mentions

NAME = "algorithm.sort_psrs"
VARIANTS = ("plain", "tuned")
INPUTS = ("uniform", "skewed", "sorted", "equal", "with_nan")


def cases(elements: tuple[int, ...]) -> list[str]:
    """Return a plan line for each input, variant and number of items."""
    lines = [
        f"{NAME} variant={variant} input={each} n={count}"
        for variant, each, count in product(VARIANTS, INPUTS, elements)
    ]
    return lines + [line + " key_type=integer" for line in lines if "with_nan" not in line]


@pytest.mark.parametrize(("ranks", "elements"), [(1, (0, 1, 1000)), (3, (0, 2, 7, 5000)), (17, (40,))])
def test_it_sorts_any_number_of_items_on_any_number_of_ranks(
    ranks: int, elements: tuple[int, ...], measure: Measure
) -> None:
    ended = measure(ranks, cases(elements))
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []
    for case in ended.cases:
        # Each item in the result and in the partition that it came from.
        assert case.verification is not None
        assert case.verification.checks >= 2 * int(case.parameters["n"])


def test_ties_are_spread_by_the_tuned_variant_only(measure: Measure) -> None:
    ranks = 3
    ended = measure(ranks, [f"{NAME} variant={variant} input=equal n=9000" for variant in VARIANTS])
    plain, tuned = (
        max(values[-1] for values in case.series[0].observed["partition_imbalance"]) for case in ended.cases
    )
    assert plain == ranks
    assert tuned == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("fault", "rank"), [("corrupt-payload", 2), ("wrong-result", 0)])
def test_an_altered_item_fails_its_case(fault: str, rank: int, measure: Measure) -> None:
    lines = [f"{NAME} variant={variant} n=1000" for variant in VARIANTS]
    ended = measure(3, lines, SCOPE_FAULT=f"{fault}:{NAME}")
    assert ended.code == 1
    assert [case.status for case in ended.cases] == ["failed"] * len(lines)
    assert all(f"rank {rank} on " in case.reason for case in ended.cases)


def test_integers_that_should_be_nan_are_refused(measure: Measure) -> None:
    (case,) = measure(2, [f"{NAME} key_type=integer input=with_nan"]).cases
    assert case.status == "unavailable"
    assert mentions(case.reason, "integers ... NaN")
