"""Predictions from lower levels of known truth, held against times that were made without the formulas' help."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope import units
from hpcscope.errors import UsageError
from hpcscope.models.fitting.draws import draw
from hpcscope.models.prediction.contention import Contention
from hpcscope.models.prediction.costs.steps import Problem
from hpcscope.models.prediction.prediction import predictions
from hpcscope.report.run.prediction_table import summary as summary_words
from hpcscope.statistics.bootstrap import DRAWS
from hpcscope.statistics.estimate import Estimate
from tests.models.curves import measured, noisy, summary
from tests.models.known_costs import LAUNCHES, cannon, cannon_run, only, phases, predictor


def test_cannon_is_predicted_from_its_lower_levels() -> None:
    found = only(cannon_run())
    validated = [point for point in found.points if point.role == "validated"]
    assert len(validated) == 8
    for point in validated:
        assert point.error == pytest.approx(0, abs=0.03), (point.size, point.ranks)
        assert point.measured_compute_s is not None
        assert point.compute_s.value == pytest.approx(point.measured_compute_s, rel=0.03)
        truth = cannon(point.size, 1)
        speedup = sum(truth.values()) / sum(cannon(point.size, round(point.ranks**0.5)).values())
        assert point.speedup.value == pytest.approx(speedup, rel=0.03)
    assert found.median_error is not None
    assert found.median_error < 0.02
    assert found.reason == ""
    assert set(found.parameters_from) == {
        "algorithm.matmul_cannon on one rank",
        "mpi.latency, shared memory inside a host",
    }


def test_what_is_predicted_does_not_know_what_it_is_held_against() -> None:
    honest, slow = only(cannon_run()), only(cannon_run(slower=20.0))
    for one, other in zip(honest.points, slow.points, strict=True):
        assert one.total_s.value == other.total_s.value
    assert slow.median_error is not None
    assert slow.median_error > 0.1, "communication that costs twenty times as much must show as an error"


def test_one_process_is_an_input_and_no_proof() -> None:
    found = only(cannon_run())
    alone = [point for point in found.points if point.ranks == 1]
    assert [point.role for point in alone] == ["input"] * 5
    assert all(point.error is None for point in alone)


def test_one_process_is_exact() -> None:
    made = cannon_run()
    for point in only(made).points:
        if point.ranks == 1:
            assert point.total_s == point.measured_total_s, "as measured"
            assert (point.speedup, point.communicate_s) == (Estimate.exact(1.0), Estimate.exact(0.0))
    between = predictor("algorithm.matmul_cannon", made).point(Problem(360, 1, {"variant": "plain"}))
    assert between.speedup == Estimate.exact(1.0)
    assert between.total_s.low is None, "no measurement says how far interpolated rates are off"


def test_fewer_than_six_errors_make_no_interval() -> None:
    few = [one for one in cannon_run() if one.ranks < 16 or one.parameters["n"] in (120, 240)]
    points = [point for point in only(few).points if point.role == "validated"]
    assert [point.interval_errors for point in points] == [0] * 6, "each has five others"
    assert all(point.total_s.low is None and point.speedup.high is None for point in points)
    found = only([one for one in few if one.ranks < 16 and one.parameters.get("n") not in (120, 180)])
    assert (len(found.errors), found.median_error) == (2, None)
    assert summary_words(found) == f"errors {' and '.join(map(units.change, found.errors))}, of 2 measured points"


def test_one_wrong_point_widens_no_interval_of_the_others() -> None:
    made = cannon_run()
    (wrong,) = (s for s in made if (s.ranks, s.metric) == (16, "communicate_s") and s.parameters["n"] == 480)
    hundredfold = wrong.model_copy(update={"median": 100 * (wrong.median or 0)})
    after = only([hundredfold if one is wrong else one for one in made])
    for one, other in zip(only(made).points, after.points, strict=True):
        if one.role == "validated":
            assert one.communicate_s.high == pytest.approx(other.communicate_s.high, rel=0.1)


def test_hidden_communication_is_a_class_of_its_own() -> None:
    plain = cannon_run()
    overlapped = [
        one.model_copy(update={"parameters": one.parameters | {"variant": "overlapped"}})
        for one in plain
        if one.benchmark == "algorithm.matmul_cannon"
    ]
    one, two = sorted(
        predictions(measured(plain + overlapped, LAUNCHES)), key=lambda found: bool(found.points[-1].hidden_s)
    )
    assert [(p.communicate_s, p.total_s) for p in one.points] == [
        (p.communicate_s, p.total_s) for p in only(plain).points
    ]
    for point, shown in zip(two.points, one.points, strict=True):
        if point.role == "validated":
            assert point.total_s.value + point.hidden_s == pytest.approx(shown.total_s.value, rel=1e-6)
            assert point.interval_errors == 7


def test_work_takes_longer_where_processes_share_the_memory() -> None:
    """Four processes share two and a half times the bandwidth of one, and 80 % of its arithmetic rate each."""
    random = np.random.default_rng(5)
    rates = []
    for ranks, memory, flops in ((1, 1e10, 1e9), (4, 2.5e10, 3.2e9)):
        given = {"unit": "B/s", "kernel": "triad", "array_bytes": 1 << 26, "work_bytes": 3.0 * ranks * (1 << 26)}
        times = noisy(random, memory, spread=0.001)
        rates.append(summary(times, "node.stream", "bandwidth_bytes_per_s", "max_rank", ranks, **given))
        times, given = noisy(random, flops, spread=0.001), {"precision": "double", "instructions": "widest"}
        rates.append(summary(times, "node.peak", "flops_per_s", "max_rank", ranks, unit="flop/s", **given))
    contention = Contention(measured(rates, LAUNCHES))
    second = np.ones(1 + DRAWS)
    for processes, passes, longer in (
        (1, 0.0, 1.0),
        (4, 0.0, 1.25),
        (4, 50.0, 0.5 * 1.25 + 0.5 * 1.6),
        (4, 1000.0, 1.6),
        (16, 1000.0, 1.6),
    ):
        found = contention.longer(second, processes, 1e8, passes)
        assert found[0] == pytest.approx(longer, rel=0.01), (processes, passes)
    assert (Contention(measured([], LAUNCHES)).longer(second, 4, 1e8, 50.0) == second).all(), (
        "nothing was measured"
    )


@pytest.mark.simulation
def test_intervals_cover_the_truth() -> None:
    hits = trials = 0
    for seed in range(25):
        for point in only(cannon_run(spread=0.01, seed=seed)).points:
            if point.role == "validated":
                truth = sum(cannon(point.size, round(point.ranks**0.5)).values())
                assert point.total_s.low is not None
                assert point.total_s.high is not None
                hits += point.total_s.low <= truth <= point.total_s.high
                trials += 1
    assert hits / trials > 0.9


@pytest.mark.simulation
def test_intervals_hold_what_the_formulas_omit() -> None:
    """Contention unknown to the formulas makes each point slower by a factor of its own."""
    hits = trials = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        made = cannon_run(seed=seed)
        for one in made:
            if one.ranks > 1 and one.benchmark != "mpi.latency" and one.metric == "time_s":
                factor = float(np.exp(random.normal(0.1, 0.2)))
                figures = {"median": one.median, "ci_low": one.ci_low, "ci_high": one.ci_high}
                changed = {name: value and value * factor for name, value in figures.items()}
                made[made.index(one)] = one.model_copy(update=changed)
        for point in only(made).points:
            if point.measured_total_s is not None and point.role == "validated":
                assert point.interval_errors == 7
                assert point.total_s.low is not None
                assert point.total_s.high is not None
                hits += point.total_s.low <= point.measured_total_s.value <= point.total_s.high
                trials += 1
    assert hits / trials >= 0.9


def test_no_point_widens_its_own_interval() -> None:
    made = cannon_run()
    (slow,) = (s for s in made if (s.ranks, s.metric) == (16, "time_s") and s.parameters["n"] == 480)
    changed = slow.model_copy(update={"median": 3 * (slow.median or 0)})
    before, after = only(made), only([changed if one is slow else one for one in made])
    for one, other in zip(before.points, after.points, strict=True):
        itself = (one.ranks, one.size) == (16, 480)
        assert (one.total_s == other.total_s) == (itself or one.role == "input")


def test_a_wide_interval_of_a_median_is_carried_on_as_wide() -> None:
    """Other programs disturbed a median: its interval ends at a hundred times the value, as the draws do."""
    random = np.random.default_rng(1)
    one = summary(noisy(random, 1e-3), "mpi.latency", "time_s", "half_round_trip")
    wide = one.model_copy(
        update={"interval_basis": "samples", "launch_medians": [1e-3] * 3, "median": 1e-3}
        | {"ci_low": 0.97e-3, "ci_high": 0.1, "relative_interval": 49.5}
    )
    high = np.quantile(draw(wide, random, 4000)[1:], 0.975)
    assert 0.03 < high < 0.3


def test_what_lies_beyond_the_measurements_is_said() -> None:
    mine = predictor("algorithm.matmul_cannon", cannon_run())
    inside = mine.point(Problem(480, 16, {"variant": "plain"}))
    beyond = mine.point(Problem(4800, 4, {"variant": "plain"}))
    assert inside.beyond == []
    assert any(words.startswith("compute:") and "60 to 480" in words for words in beyond.beyond)
    assert any(words.startswith("messages outside") for words in beyond.beyond)


def test_more_processes_than_a_host_has_processors_are_said_to_be() -> None:
    mine = predictor("algorithm.matmul_cannon", cannon_run())
    assert mine.point(Problem(480, 16, {"variant": "plain"})).beyond == []
    said = mine.point(Problem(480, 64, {"variant": "plain"})).beyond
    assert ["16" in one for one in said] == [True], "the processors of a host"


def test_without_a_ping_pong_nothing_is_predicted() -> None:
    found = only([s for s in cannon_run() if s.benchmark != "mpi.latency"])
    assert [point.ranks for point in found.points] == [1] * 5
    assert found.median_error is None
    assert "mpi.latency" in found.reason


def test_without_one_process_nothing_is_predicted() -> None:
    found = only([s for s in cannon_run() if s.ranks > 1])
    assert found.points == []
    assert "algorithm.matmul_cannon" in found.reason


def test_crowded_points_are_shown_and_not_counted() -> None:
    random = np.random.default_rng(3)
    times = {name: 50 * value for name, value in cannon(240, 6).items()}
    crowded = phases(random, "algorithm.matmul_cannon", 32, 0.002, times, n=240, variant="plain")
    found = only(cannon_run() + crowded)
    assert [point.oversubscribed for point in found.points if point.ranks == 32] == [True]
    assert found.median_error is not None
    assert found.median_error < 0.02


def test_a_grid_that_does_not_exist_is_refused() -> None:
    mine = predictor("algorithm.matmul_cannon", cannon_run())
    with pytest.raises(UsageError, match=r"grid_rows=3\b.*\b4\b"):
        mine.point(Problem(240, 4, {"variant": "plain", "grid_rows": 3}))


def test_runs_of_an_emulated_cluster_are_predicted_like_others() -> None:
    here = cannon_run()
    emulated = [one.model_copy(update={"origin": "emulated"}) for one in here]
    assert [point.total_s for point in only(emulated).points] == [point.total_s for point in only(here).points]
    assert predictions(measured([one.model_copy(update={"origin": "imported"}) for one in here], LAUNCHES)) == []
