"""The numbers of ranks that a benchmark allows."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from hpcscope.catalog.ranks import Ranks

RULES = [
    (Ranks(), {1, 2, 3, 4, 5, 6, 7, 8, 9}, "at least 1"),
    (Ranks(minimum=3), {3, 4, 5, 6, 7, 8, 9}, "at least 3"),
    (Ranks(minimum=2, maximum=5), {2, 3, 4, 5}, "at least 2 and at most 5"),
    (Ranks(minimum=2, maximum=2), {2}, "2"),
    (Ranks(minimum=2, multiple_of=2), {2, 4, 6, 8}, "an even number, at least 2"),
    (Ranks(minimum=3, multiple_of=3), {3, 6, 9}, "a multiple of 3, at least 3"),
    (Ranks(square=True), {1, 4, 9}, "a square number, at least 1"),
    (Ranks(square=True, multiple_of=2), {4}, "a square number, an even number, at least 1"),
    (Ranks(one_of=[7, 1]), {1, 7}, "1 or 7"),
    (Ranks(one_of=[4, 1, 9]), {1, 4, 9}, "1, 4 or 9"),
    (Ranks(one_of=[6]), {6}, "6"),
]


@pytest.mark.parametrize(("ranks", "allowed", "description"), RULES)
def test_a_rule_allows_what_its_description_says(ranks: Ranks, allowed: set[int], description: str) -> None:
    assert {count for count in range(-4, 10) if ranks.allows(count)} == allowed
    assert ranks.description == description


@pytest.mark.parametrize(("ranks", "allowed", "description"), RULES)
def test_the_largest_number_that_fits_is_allowed(ranks: Ranks, allowed: set[int], description: str) -> None:
    for room in range(10):
        assert ranks.up_to(room) == max((count for count in allowed if count <= room), default=None)


@pytest.mark.parametrize(("ranks", "allowed", "description"), RULES)
def test_the_smallest_number_is_allowed(ranks: Ranks, allowed: set[int], description: str) -> None:
    assert ranks.fewest == min(allowed)


def test_large_square_numbers_are_exact() -> None:
    side = 3_037_000_499
    squares = Ranks(square=True)
    assert squares.allows(side**2)
    assert not squares.allows(side**2 - 1)
    assert not squares.allows(side**2 + 1)


@pytest.mark.parametrize("wrong", [{"minimum": 0}, {"multiple_of": 0}, {"square": "perhaps"}, {"even": True}])
def test_impossible_rules_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        Ranks.model_validate(wrong)
