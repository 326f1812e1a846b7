import re
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from hpcscope.models.communication.piecewise_hockney import FEWEST_POINTS, PiecewiseHockney, best_divisions
from hpcscope.models.fitting.curve import curves
from hpcscope.models.fitting.fit import Breakpoint, Fit, NotFitted
from hpcscope.models.fitting.misfit import quarter_miss
from hpcscope.models.fitting.model import fit_all
from tests.declared import catalog
from tests.draws import draws
from tests.models.breaking import BASELINE, CONTINUOUS, Truth, claims, jumping, looked_at_again, measured
from tests.models.curves import measured as all_measured
from tests.models.curves import noisy, summary

SIZES = [0, 1, 8, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576]


def eager(n: float) -> float:
    return 1e-6 + n / 8e9


def rendezvous(n: float) -> float:
    return 4e-6 + n / 12e9


def switched(n: float, switch: int = 16384) -> float:
    return eager(n) if n <= switch else rendezvous(n)


def fit_of(
    random: np.random.Generator, truth: object, spread: float = 0.01, launches: int = 6
) -> Fit | NotFitted | None:
    points = [summary(noisy(random, truth(n), launches, spread=spread), message_bytes=n) for n in SIZES]  # type: ignore[operator]
    return PiecewiseHockney().fit(curves(points, catalog())[0])


def bounds(point: Breakpoint) -> tuple[float, float]:
    assert point.jump_s is not None
    assert point.jump_s.low is not None
    assert point.jump_s.high is not None
    return point.jump_s.low, point.jump_s.high


def squares(x: np.ndarray, y: np.ndarray, sigma: np.ndarray) -> float:
    """Return the weighted squares around the best line; around a level where it would fall."""
    slope, start = np.polyfit(x, y, 1, w=1 / sigma)
    best = start + slope * x if slope > 0 else np.average(y, weights=1 / sigma**2)
    return float((((y - best) / sigma) ** 2).sum())


def test_the_programme_is_exact() -> None:
    random = np.random.default_rng(21)
    x = np.sort(random.uniform(0, 100, 14))
    for _ in range(20):
        y = random.uniform(1, 2, 14)
        sigma = random.uniform(0.05, 0.2, 14)
        for segments, (cost, starts) in enumerate(best_divisions(x, y, sigma), start=1):
            brute = min(
                sum(squares(x[a:b], y[a:b], sigma[a:b]) for a, b in zip((0, *cuts), (*cuts, 14), strict=True))
                for cuts in combinations(range(1, 14), segments - 1)
                if all(b - a >= FEWEST_POINTS for a, b in zip((0, *cuts), (*cuts, 14), strict=True))
            )
            assert cost == pytest.approx(brute)
            assert len(starts) == segments


# Between 64 and 128 KiB the two protocols cost the same: a switch there leaves a bend and no step.
@pytest.mark.parametrize("switch", [1024, 4096, 16384, 65536])
def test_a_switch_is_found_where_it_is(switch: int) -> None:
    fit = fit_of(np.random.default_rng(22), lambda n: switched(n, switch))
    assert isinstance(fit, Fit)
    (point,) = fit.breakpoints
    assert (point.last_before, point.first_after) == (switch, SIZES[SIZES.index(switch) + 1])
    low, high = bounds(point)
    for n in (point.last_before, point.first_after):
        assert low <= rendezvous(n) - eager(n) <= high
    assert not point.is_jump, "the sizes are too far apart to tell a jump from a steep piece"
    first, second = fit.segments
    assert first.latency_s.value == pytest.approx(1e-6, rel=0.03)
    assert second.per_byte_s.value == pytest.approx(1 / 12e9, rel=0.03)


def common(
    random: np.random.Generator, truth: Callable[[float], float], numbered: bool = True
) -> Fit | NotFitted | None:
    """A curve whose launches are each slower or faster throughout, by 15 %; single points scatter by 2 %."""
    factors = np.exp(random.normal(0, 0.15, 6))
    points = [
        summary(
            [factor * one for factor, one in zip(factors, noisy(random, truth(n), spread=0.02), strict=True)],
            message_bytes=n,
            numbers=range(1, 7) if numbered else (),
        )
        for n in SIZES
    ]
    return PiecewiseHockney().fit(curves(points, catalog())[0])


def a_third_more(n: float) -> float:
    return eager(n) * (1.3 if n > 4096 else 1.0)


def broken(fit: Fit | NotFitted | None) -> list[tuple[float, float]]:
    return [(one.last_before, one.first_after) for one in fit.breakpoints] if isinstance(fit, Fit) else []


@pytest.mark.simulation
@draws(20, 60)
def test_what_a_launch_does_to_all_sizes_hides_no_break(draws: int) -> None:
    random = np.random.default_rng(31)
    found = [(4096, 8192) in broken(common(random, a_third_more)) for _ in range(draws)]
    assert np.mean(found) >= 0.95
    unknown = [(4096, 8192) in broken(common(random, a_third_more, numbered=False)) for _ in range(draws // 3)]
    assert np.mean(unknown) < 0.5, "without the numbers of the launches the study shows nothing"


@pytest.mark.simulation
@draws(34, 100)
def test_what_a_launch_does_to_all_sizes_makes_no_break(draws: int) -> None:
    random = np.random.default_rng(32)
    assert np.mean([bool(broken(common(random, eager))) for _ in range(draws)]) <= 0.03


@pytest.mark.simulation
@draws(40, 200)
@pytest.mark.parametrize("share", [0.3, 1.0, -0.3])
def test_a_jump_is_found_as_large_as_it_is(share: float, draws: int) -> None:
    random = np.random.default_rng(23)
    near, held = [], []
    for _ in range(draws):
        limit, truth = jumping(random, share)
        for found, point in claims(looked_at_again(random, truth, BASELINE, 0.02)):
            assert point.last_before <= limit < point.first_after
            near.append(abs(found / share - 1) <= 0.1)
            low, high = bounds(point)
            held.append(low <= share * truth(limit) <= high)
    assert len(near) / draws >= 0.9
    assert np.mean(near) >= 0.9
    assert np.mean(held) >= 0.9


@pytest.mark.simulation
@draws(25, 200)
@pytest.mark.parametrize("kind", CONTINUOUS.values(), ids=CONTINUOUS.keys())
def test_a_continuous_curve_does_not_jump(kind: Callable[[np.random.Generator], Truth], draws: int) -> None:
    random = np.random.default_rng(33)
    for look in (measured, looked_at_again):
        jumps = [any(claims(look(random, kind(random), BASELINE, 0.02))) for _ in range(draws)]
        assert np.mean(jumps) < 0.02 + 1 / draws


@pytest.mark.simulation
@draws(30, 120)
@pytest.mark.parametrize("spread", [0.001, 0.01, 0.05])
def test_a_straight_line_is_seldom_broken(spread: float, draws: int) -> None:
    random = np.random.default_rng(24)
    broken = sum(isinstance(fit_of(random, eager, spread), Fit) for _ in range(draws))
    assert broken <= draws // 30


def test_two_switches_are_two() -> None:
    fit = fit_of(np.random.default_rng(25), lambda n: 1e-6 + n / 8e9 + (n > 256) * 1e-6 + (n > 32768) * 8e-6)
    assert isinstance(fit, Fit)
    assert [p.last_before for p in fit.breakpoints] == [256, 32768]


def test_half_of_the_bandwidth_is_reached_where_it_says() -> None:
    fit = fit_of(np.random.default_rng(26), switched, spread=1e-4)
    assert isinstance(fit, Fit)
    values = {p.name: p.value for p in fit.parameters}
    assert values["r_inf_bytes_per_s"] == pytest.approx(12e9, rel=0.01)
    half = values["n_half_bytes"]
    # The eager line would reach it at 24000 B, beyond its last size.
    assert half / rendezvous(half) == pytest.approx(6e9, rel=0.01)


def test_the_data_choose_and_the_rejected_is_kept() -> None:
    random = np.random.default_rng(27)
    points = [summary(noisy(random, switched(n)), message_bytes=n) for n in SIZES]
    fits, _ = fit_all(all_measured(points))
    assert [(fit.model, fit.chosen) for fit in fits] == [("piecewise_hockney", True), ("hockney", False)]
    assert "BIC" in fits[0].reason
    assert "BIC" in fits[1].reason
    assert "piecewise_hockney" in fits[1].reason


def test_a_straight_line_chooses_hockney_and_says_why_it_is_one() -> None:
    random = np.random.default_rng(28)
    points = [summary(noisy(random, eager(n)), message_bytes=n) for n in SIZES]
    fits, not_fitted = fit_all(all_measured(points))
    assert [(fit.model, fit.chosen) for fit in fits] == [("hockney", True)]
    assert [result.model for result in not_fitted] == ["piecewise_hockney"]
    assert "Hockney" in not_fitted[0].reason


@pytest.mark.parametrize(
    ("wrong", "points", "miss"), [(1, 3, 0.4), (1, 4, 0.4), (1, 7, 0.4), (1, 8, 0.1), (2, 8, 0.4)]
)
def test_a_law_may_not_miss_a_quarter_of_its_points_and_not_one_of_few(
    wrong: int, points: int, miss: float
) -> None:
    assert quarter_miss([-0.4] * wrong + [0.1] * (points - wrong)) == miss


def test_what_no_model_describes_is_not_chosen() -> None:
    random = np.random.default_rng(29)
    wild = [
        summary(noisy(random, 1e-6 * (1 + 20 * (i % 2))), message_bytes=n)
        for i, n in enumerate([2**k for k in range(24)])
    ]
    fits, _ = fit_all(all_measured(wild))
    assert not any(fit.chosen for fit in fits)
    assert any(re.search(r"\d %", fit.reason) for fit in fits), "how far the points lie away"
