"""Effects of factors: what was put in comes out, and nothing is made of chance."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from hpcscope.programs.campaign.effects import effects, fastest
from hpcscope.programs.campaign.study import Value
from tests.campaign.records import study

POINTS: list[dict[str, Value]] = [
    {"grid": grid, "solver": solver, "ranks": ranks}
    for grid in (64, 128)
    for solver in ("cg", "mg")
    for ranks in (1, 2)
]


def figures(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
    """The grid takes four times as long, two ranks 0.6 of the time, and the solver makes no difference."""
    slower = {64: 1.0, 128: 4.0}[int(point["grid"])] * {1: 1.0, 2: 0.6}[int(point["ranks"])]
    return {"wall_s": slower * float(np.exp(random.normal(0, 0.03)))}


def test_effects_are_those_that_were_put_in() -> None:
    found = {each.factor: each for each in effects(study(POINTS, figures))}
    assert set(found) == {"grid", "solver", "ranks"}
    for factor, value, first, ratio in (("grid", 128, 64, 4.0), ("ranks", 2, 1, 0.6), ("solver", "mg", "cg", 1.0)):
        effect = found[factor]
        assert (effect.value, effect.first, effect.pairs) == (value, first, 4)
        assert effect.ratio.low is not None
        assert effect.ratio.high is not None
        assert effect.ratio.low < ratio < effect.ratio.high
        assert effect.ratio.high / effect.ratio.low < 1.15
    assert [each.certain for each in found.values()] == [True, False, True]


def test_points_are_compared_with_their_own_kind_only() -> None:
    records = study(
        [{"grid": 64, "ranks": 1}, {"grid": 128, "ranks": 2}, {"grid": 128, "ranks": 1}],
        lambda point, _random: {"wall_s": float(int(point["grid"]))},
    )
    found = {each.factor: each for each in effects(records)}
    assert (found["grid"].ratio.value, found["grid"].pairs) == (pytest.approx(2.0), 1)
    assert (found["ranks"].ratio.value, found["ranks"].pairs) == (pytest.approx(1.0), 1)


def test_words_with_numbers_stand_in_the_order_of_the_numbers() -> None:
    resolutions = ("T170", "T42", "T85")
    records = study([{"resolution": one} for one in resolutions], lambda _point, _random: {"wall_s": 1.0})
    assert [(one.value, one.first) for one in effects(records)] == [("T85", "T42"), ("T170", "T42")]


@pytest.mark.parametrize("repetitions", [1, 3])
def test_few_runs_give_no_interval(repetitions: int) -> None:
    found = effects(study(POINTS, figures, repetitions))
    assert found
    assert all(each.ratio.low is None and not each.certain for each in found)


def test_the_fastest_point_names_its_rivals() -> None:
    best = fastest(study(POINTS, figures))
    assert best is not None
    assert (best.point.ranks, best.point.parameters["grid"]) == (2, 64)
    assert best.rivals == 1, "the other solver"
    assert fastest(study(POINTS[:1], figures)) is None
