"""Speedups, Amdahl's law with communication and what follows from it, from times of known truth."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hpcscope.models.scaling.amdahl import Amdahl, critical_count, fit, nonnegative
from hpcscope.models.scaling.speedup import Speedup, speedups
from hpcscope.samples.records import LaunchRecord
from hpcscope.statistics.summary import Summary
from tests import golden_run as golden
from tests.messages import numbers
from tests.models.curves import measured, noisy, summary


def launch(ranks: int, number: int = 1) -> LaunchRecord:
    return LaunchRecord.model_validate(golden.launch_record(number, ranks, "default", 0.0))


def times(
    truth: Callable[[int], float],
    counts: list[int],
    benchmark: str = "algorithm.matmul_cannon",
    seed: int = 1,
    spread: float = 0.01,
    launches: int = 6,
    **parameters: Any,
) -> list[Summary]:
    random = np.random.default_rng(seed)
    given = parameters if "class" in parameters else {"n": 840, "variant": "plain"} | parameters
    return [
        summary(
            noisy(random, truth(p), launches, spread=spread), benchmark, "time_s", "max_rank", ranks=p, **given
        )
        for p in counts
    ]


def law(serial: float, parallel: float, each: float) -> Callable[[int], float]:
    return lambda n: serial + parallel / n + each * (n - 1)


def only(summaries: list[Summary], counts: list[int]) -> Speedup:
    found = speedups(measured(summaries, [launch(p) for p in counts]))
    assert len(found) == 1
    return found[0]


COUNTS = [1, 2, 4, 8, 12, 16]


def test_an_application_has_no_size_and_is_compared_with_itself_alone() -> None:
    counts = [1, 2, 4]
    made = []
    for kernel, serial in (("ep", 0.0), ("cg", 0.3)):
        made += times(law(serial, 1.0, 0.0), counts, f"application.npb_{kernel}", seed=len(made), **{"class": "A"})
    found = speedups(measured(made, [launch(p) for p in counts]))
    assert [(one.subject.benchmark, one.size) for one in found] == [
        ("application.npb_cg", 0),
        ("application.npb_ep", 0),
    ]
    for one, truth in zip(found, (1.3 / 0.55, 4.0), strict=True):
        assert one.points[-1].speedup is not None
        assert one.points[-1].speedup.value == pytest.approx(truth, rel=0.03)
        assert one.best_sequential == one.sequential_baseline


def test_the_law_is_found_again() -> None:
    found = only(times(law(0.1, 0.9, 0.004), COUNTS), COUNTS)
    assert found.amdahl is not None
    assert found.amdahl.serial_share.value == pytest.approx(0.1, abs=0.02)
    assert found.amdahl.critical_ranks is not None
    assert found.amdahl.critical_ranks.value == pytest.approx(15, rel=0.1), "sqrt(0.9 / 0.004)"
    assert found.amdahl.relative_error is not None
    assert found.amdahl.relative_error < 0.02
    point = found.points[-1]
    assert point.speedup is not None
    assert point.efficiency is not None
    assert point.speedup.value == pytest.approx(1 / law(0.1, 0.9, 0.004)(16), rel=0.05)
    assert point.efficiency.value == pytest.approx(point.speedup.value / 16)
    assert not point.superlinear
    assert found.points[0].speedup is not None
    assert found.points[0].speedup.low == 1


def test_the_intervals_cover_the_truth() -> None:
    hits = {"share": 0, "critical": 0}
    trials = 60
    for seed in range(trials):
        found = only(times(law(0.1, 0.9, 0.004), COUNTS, seed=seed), COUNTS).amdahl
        assert found is not None
        share, critical = found.serial_share, found.critical_ranks
        assert share.low is not None
        assert share.high is not None
        hits["share"] += share.low <= 0.1 <= share.high
        if critical is not None and critical.low is not None and critical.high is not None:
            hits["critical"] += critical.low <= 15 <= critical.high
    assert hits["share"] / trials > 0.85
    assert hits["critical"] / trials > 0.85


def test_without_a_growing_cost_no_count_is_critical() -> None:
    found = only(times(law(0.1, 0.9, 0.0), COUNTS), COUNTS).amdahl
    assert found is not None
    assert found.critical_ranks is None
    assert found.reason


def test_two_counts_are_too_few_for_a_law() -> None:
    found = only(times(law(0.1, 0.9, 0.004), [1, 2]), [1, 2])
    assert found.amdahl is None
    assert numbers(found.reason) == [2, 3], "counts here, and counts that it needs"
    assert found.points[1].speedup is not None


def test_oversubscribed_counts_are_labelled_and_not_fitted() -> None:
    counts = [1, 2, 4, 8, 16, 32]
    truth = law(0.1, 0.9, 0.004)
    found = only(times(lambda p: truth(p) * (1 if p <= 16 else 20), counts), counts)
    assert [point.oversubscribed for point in found.points] == [False] * 5 + [True]
    assert found.amdahl is not None
    assert [point.x for point in found.amdahl.points] == [1, 2, 4, 8, 16]
    assert found.amdahl.serial_share.value == pytest.approx(0.1, abs=0.03)


def test_a_law_that_describes_nothing_is_refused() -> None:
    counts = [1, 2, 4, 8, 16]
    found = only(times(lambda p: {1: 1.0, 2: 0.1, 4: 3.0, 8: 0.05, 16: 2.0}[p], counts), counts)
    assert found.amdahl is None
    assert re.search(r"\d %", found.reason), "how far the points lie away"


def test_the_best_serial_version_may_be_another_algorithm() -> None:
    cannon = times(law(0.1, 0.9, 0.004), [1, 4])
    striped = times(lambda _: 0.5, [1], "algorithm.matmul_striped", variant="transposed")
    elsewhere = times(lambda _: 0.1, [1], "algorithm.matmul_striped", variant="transposed", n=420)
    found = next(s for s in speedups(measured(cannon + striped + elsewhere, [launch(4)])))
    point = found.points[-1]
    assert found.best_sequential == striped[0].label
    assert point.speedup is not None
    assert point.speedup_of_best is not None
    assert point.speedup_of_best.value == pytest.approx(0.5 / law(0.1, 0.9, 0.004)(4), rel=0.05)
    assert point.speedup.value == pytest.approx(1 / law(0.1, 0.9, 0.004)(4), rel=0.05)


def test_what_is_computed_is_never_mixed() -> None:
    easy = times(lambda p: 0.1 / p, [1, 2], "algorithm.sort_psrs", n=1, input="sorted")
    hard = times(lambda p: 1.0 / p, [1, 2], "algorithm.sort_psrs", n=1, input="uniform")
    found = speedups(measured(easy + hard))
    assert [s.best_sequential_s.value for s in found if s.best_sequential_s] == [
        pytest.approx(0.1, rel=0.05),
        pytest.approx(1, rel=0.05),
    ]


def test_the_fastest_grid_counts() -> None:
    summaries = times(lambda p: 1.0 / p, [1, 4], grid_rows=0) + times(lambda p: 0.8 / p, [4], grid_rows=1, seed=2)
    found = only(summaries, [1, 4])
    assert [(point.ranks, point.grid) for point in found.points] == [(1, {"grid_rows": 0}), (4, {"grid_rows": 1})]
    assert found.points[1].superlinear


def test_without_one_process_there_is_no_speedup() -> None:
    found = only(times(lambda p: 1.0 / p, [2, 4]), [2, 4])
    assert found.sequential_baseline == ""
    assert [point.speedup for point in found.points] == [None, None]
    assert found.effective_ranks is None


def test_a_linear_speedup_is_not_superlinear() -> None:
    alarms = sum(
        point.superlinear
        for seed in range(50)
        for point in only(times(lambda p: 1.0 / p, [1, 2, 4], seed=seed), [1, 2, 4]).points
    )
    assert alarms <= 5, "a one-sided 97.5 % bound, 100 points"


def test_the_most_effective_count_is_where_efficiency_times_speedup_is_largest() -> None:
    truth = law(0.1, 0.9, 0.004)
    found = only(times(truth, COUNTS, spread=0.001), COUNTS)
    assert found.effective_ranks is not None
    assert found.effective_ranks.value == max(COUNTS, key=lambda p: (truth(1) / truth(p)) ** 2 / p)


def test_nonnegative_least_squares_agree_with_lawson_and_hanson() -> None:
    from scipy.optimize import nnls

    random = np.random.default_rng(5)
    for _ in range(50):
        design = random.normal(size=(6, 3))
        wanted = random.normal(size=(6, 4))
        found = nonnegative(design, wanted)
        expected = np.column_stack([nnls(design, wanted[:, i])[0] for i in range(4)])
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_few_launches_still_give_an_interval() -> None:
    found = only(times(law(0.1, 0.9, 0.004), COUNTS, launches=2), COUNTS).amdahl
    assert found is not None
    assert found.serial_share.low is not None
    assert found.serial_share.low < found.serial_share.value


def test_critical_count_is_never_below_one() -> None:
    found, _ = critical_count(np.full(11, 1.0), np.full(11, 4.0))
    assert found is not None
    assert found.value == 1


def test_fit_needs_three_counts() -> None:
    assert isinstance(fit(np.array([1.0]), np.ones((1, 5))), str)
    assert isinstance(fit(np.array([1.0, 2.0, 3.0]), np.ones((3, 5))), Amdahl)
