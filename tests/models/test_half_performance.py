"""r_inf, n_1/2 and f_1/2 from curves of known truth."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.models.computation.half_performance import HalfPerformance
from hpcscope.models.fitting.curve import Curve, curves
from hpcscope.models.fitting.fit import Fit, NotFitted
from hpcscope.models.fitting.model import fit_all
from hpcscope.samples.records import Work
from hpcscope.statistics.summary import Summary
from tests.declared import catalog
from tests.messages import numbers
from tests.models.curves import measured, noisy, summary

R_INF, HALF = 8e9, 12.0
LENGTHS = [1, 4, 16, 64, 256, 1024]
INTENSITIES = [1, 2, 3, 4, 6, 8, 10]


def loop(x: int, times: list[np.ndarray], name: str, per_unit: float) -> Summary:
    benchmark = {"vector_length": "node.vector_rate", "intensity": "node.intensity"}[name]
    made = summary(times, benchmark, "time_s", "max_rank", ranks=1, **{name: x}, kernel="triad")
    return made.model_copy(update={"work": Work(bytes=0.0, flops=per_unit * x, messages=0.0)})


def seconds(x: int, per_unit: float) -> float:
    return per_unit * (x + HALF) / R_INF


def curve(name: str, xs: list[int], per_unit: float, random: np.random.Generator | None = None) -> Curve:
    points = [
        loop(
            x,
            noisy(random, seconds(x, per_unit)) if random else [np.full(9, seconds(x, per_unit))] * 6,
            name,
            per_unit,
        )
        for x in xs
    ]
    (made,) = curves(points, catalog())
    assert made.variable == name
    return made


@pytest.mark.parametrize(
    ("name", "xs", "per_unit", "half"),
    [("vector_length", LENGTHS, 2.0, "n_half"), ("intensity", INTENSITIES, 2048.0, "f_half")],
)
def test_exact_data_give_the_exact_parameters(name: str, xs: list[int], per_unit: float, half: str) -> None:
    fit = HalfPerformance().fit(curve(name, xs, per_unit))
    assert isinstance(fit, Fit)
    assert {p.name: p.value for p in fit.parameters} == pytest.approx({"r_inf_flops_per_s": R_INF, half: HALF})
    assert (fit.low, fit.high) == (xs[0], xs[-1])


@pytest.mark.simulation
def test_the_intervals_cover_the_truth() -> None:
    random = np.random.default_rng(21)
    trials, hits = 200, {"r_inf_flops_per_s": 0, "n_half": 0}
    for _ in range(trials):
        fit = HalfPerformance().fit(curve("vector_length", LENGTHS, 2.0, random))
        assert isinstance(fit, Fit)
        for parameter in fit.parameters:
            truth = HALF if parameter.name == "n_half" else R_INF
            hits[parameter.name] += parameter.low <= truth <= parameter.high
    assert min(hits.values()) / trials > 0.93


def test_it_is_chosen_for_its_curves_and_no_others() -> None:
    lengths = [loop(x, [np.full(9, seconds(x, 2.0))] * 6, "vector_length", 2.0) for x in LENGTHS]
    messages = [summary([np.full(9, 1e-6 + n * 1e-9)] * 6, message_bytes=n) for n in LENGTHS]
    fits, _ = fit_all(measured([*lengths, *messages]))
    assert {fit.variable for fit in fits if fit.model == HalfPerformance.name and fit.chosen} == {"vector_length"}
    assert {fit.variable for fit in fits if fit.model == "hockney"} == {"message_bytes"}


def test_two_points_are_no_line() -> None:
    result = HalfPerformance().fit(curve("intensity", [1, 2], 2.0))
    assert isinstance(result, NotFitted)
    assert numbers(result.reason) == [2, 3], "points here, and points that a line needs"


def test_a_time_that_does_not_grow_has_no_rate() -> None:
    points = [loop(x, [np.full(9, 1e-6 * (1 - x / 10))] * 6, "vector_length", 2.0) for x in (1, 2, 3, 4)]
    result = HalfPerformance().fit(curves(points, catalog())[0])
    assert isinstance(result, Fit)
    assert not result.chosen
    assert result.reason, "what has one is never chosen"
    assert [text.partition(":")[0] for text in result.left_out] == ["r_inf_flops_per_s, n_half"]
    assert result.parameters == []
