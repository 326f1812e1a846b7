import numpy as np
import pytest

from hpcscope.samples.records import Extremes, Series
from hpcscope.samples.samples import Times
from hpcscope.statistics.definitions import comparable, observed, series_of, times_under

ELAPSED = [[4.0, 6.0], [2.0, 8.0], [3.0, 1.0]]
ENTRY = [[0.0, 1.0], [3.0, 0.5], [0.5, 9.0]]


def series(**change: object) -> Times:
    given: dict[str, object] = {
        "cadence": "isolated",
        "synchronization": "window",
        "operations": 2,
        "warmup": 0,
        "ranks_kept": [0, 1, 2],
        "elapsed_s": ELAPSED,
        "entry_s": ENTRY,
    }
    return Times.from_record(Series.model_validate(given | change))


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("half_round_trip", [1.0, 1.5]),
        ("local", [2.0, 4.0]),
        ("max_rank", [2.0, 4.0]),
        ("mean_rank", [1.5, 2.5]),
        ("global", [2.5, 4.75]),
    ],
)
def test_known_answers(definition: str, expected: list[float]) -> None:
    np.testing.assert_allclose(times_under(definition, series()), expected)  # type: ignore[arg-type]


def test_the_first_entry_is_the_start_with_and_without_an_agreed_one() -> None:
    times = times_under("global", series(synchronization="dissemination"))
    np.testing.assert_allclose(times, times_under("global", series()))  # type: ignore[arg-type]
    np.testing.assert_allclose(times, [(5.0 - 0.0) / 2, (10.0 - 0.5) / 2])


def test_one_process_alone_starts_when_it_starts() -> None:
    alone = series(synchronization="none", ranks_kept=[0], elapsed_s=[[4.0, 6.0]], entry_s=[[0.5, 1.0]])
    np.testing.assert_allclose(times_under("global", alone), [2.0, 3.0])  # type: ignore[arg-type]
    assert times_under("global", series(synchronization="none")) is None


def test_without_entry_times_there_is_no_global_time() -> None:
    assert times_under("global", series(entry_s=None)) is None


def test_without_rank_0_there_is_no_round_trip() -> None:
    assert times_under("half_round_trip", series(ranks_kept=[3, 1, 2])) is None


def test_extremes_of_all_ranks_win_over_the_ranks_kept() -> None:
    extremes = Extremes(
        minimum_s=[1.0, 1.0],
        minimum_rank=[9, 9],
        maximum_s=[40.0, 60.0],
        maximum_rank=[300, 301],
        mean_s=[10.0, 12.0],
        first_entry_s=[2.0, 4.0],
        latest_exit_s=[50.0, 70.0],
    )
    times = series(extremes=extremes)
    np.testing.assert_allclose(times_under("max_rank", times), [20, 30])
    np.testing.assert_allclose(times_under("mean_rank", times), [5, 6])
    np.testing.assert_allclose(times_under("global", times), [24, 33])


def test_loops_have_their_own_series() -> None:
    loop = series(cadence="streaming", synchronization="none", entry_s=None)
    both = [series(), loop]
    assert series_of("streaming", both) is loop
    assert series_of("barrier_loop", both) is None
    np.testing.assert_allclose(times_under("streaming", loop), [2.0, 4.0])


def test_a_pair_is_not_compared_with_what_all_do() -> None:
    assert comparable("half_round_trip", 2) == ("half_round_trip",)
    assert comparable("local", 1) == ("local",)
    assert comparable("local", 2) == ("local", "streaming")
    assert comparable("global", 4) == ("global", "max_rank", "mean_rank", "streaming", "barrier_loop")
    assert comparable("max_rank", 1) == ("max_rank", "global", "streaming", "barrier_loop")


def test_observed_values_are_those_of_the_slowest_rank() -> None:
    found = observed("compute_s", [series(observed={"compute_s": ELAPSED})])
    assert found is not None
    np.testing.assert_allclose(found[1], [4.0, 8.0])
    assert observed("idle_s", [series()]) is None
