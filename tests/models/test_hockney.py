import numpy as np
import pytest

from hpcscope.models.communication.hockney import Hockney
from hpcscope.models.fitting.curve import Curve, curves
from hpcscope.models.fitting.fit import Fit, NotFitted
from tests.declared import catalog
from tests.messages import numbers
from tests.models.curves import noisy, summary

SIZES = [0, 64, 1024, 4096, 16384, 65536, 262144, 1048576]
LATENCY, PER_BYTE = 2e-6, 1 / 5e9
TRUTH = {
    "latency_s": LATENCY,
    "per_byte_s": PER_BYTE,
    "r_inf_bytes_per_s": 1 / PER_BYTE,
    "n_half_bytes": LATENCY / PER_BYTE,
}


def drawn(random: np.random.Generator, launches: int, spread: float = 0.01) -> Curve:
    points = [
        summary(noisy(random, LATENCY + PER_BYTE * n, launches, spread=spread), message_bytes=n) for n in SIZES
    ]
    (curve,) = curves(points, catalog())
    return curve


def fitted(curve: Curve) -> Fit:
    fit = Hockney().fit(curve)
    assert isinstance(fit, Fit)
    return fit


def test_exact_data_give_the_exact_line() -> None:
    exact = [summary([np.full(9, LATENCY + PER_BYTE * n)] * 6, message_bytes=n) for n in SIZES]
    fit = fitted(curves(exact, catalog())[0])
    for parameter in fit.parameters:
        assert parameter.value == pytest.approx(TRUTH[parameter.name])
        assert parameter.low == pytest.approx(parameter.value)
    assert fit.relative_error < 1e-9
    assert (fit.low, fit.high) == (0, 1048576)
    assert [point.x for point in fit.points] == SIZES


@pytest.mark.simulation
@pytest.mark.parametrize("launches", [6, 10, 3])
def test_the_intervals_cover_the_truth_as_often_as_they_say(launches: int) -> None:
    """95 % and more with launches as the unit; with three launches the delta method must hold it as well."""
    random = np.random.default_rng(11)
    trials = 200
    hits = dict.fromkeys(TRUTH, 0)
    for _ in range(trials):
        for parameter in fitted(drawn(random, launches)).parameters:
            hits[parameter.name] += parameter.low <= TRUTH[parameter.name] <= parameter.high
    for name, count in hits.items():
        assert count / trials > 0.93, name


def test_intervals_are_not_needlessly_wide() -> None:
    fit = fitted(drawn(np.random.default_rng(12), 6))
    for parameter in fit.parameters:
        assert (parameter.high - parameter.low) / parameter.value < 0.1


def test_two_sizes_are_no_line() -> None:
    points = [summary([np.full(5, 1e-6 + n * 1e-9)] * 6, message_bytes=n) for n in (0, 1024)]
    result = Hockney().fit(curves(points, catalog())[0])
    assert isinstance(result, NotFitted)
    assert numbers(result.reason) == [2, 3], "sizes here, and sizes that it needs"


def test_without_a_slope_there_is_no_bandwidth() -> None:
    random = np.random.default_rng(13)
    points = [summary(noisy(random, 1e-6, spread=0.05), message_bytes=n) for n in (0, 1, 2, 4, 8)]
    fit = fitted(curves(points, catalog())[0])
    assert {parameter.name for parameter in fit.parameters} == {"latency_s", "per_byte_s"}
    assert [text.partition(":")[0] for text in fit.left_out] == ["r_inf_bytes_per_s, n_half_bytes"] or fit.reason
