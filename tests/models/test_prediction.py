"""Predictions from lower levels of known truth, held against times that were made without the formulas' help."""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import numpy as np
import pytest

from scope.catalog.benchmark import Value
from scope.errors import UsageError
from scope.models.fitting.draws import draw
from scope.models.prediction.costs import relaxation
from scope.models.prediction.costs.declared import Declared
from scope.models.prediction.costs.steps import Collective, Messages, NeighborExchange, Problem, crossing
from scope.models.prediction.measured_costs import MeasuredCosts, NotMeasuredError
from scope.models.prediction.prediction import Prediction, Predictor, all_costs, predictions
from scope.plan.placement import Placement
from scope.samples.records import LaunchRecord
from scope.statistics.summary import Summary
from tests import golden_run as golden
from tests.declared import catalog
from tests.models.curves import measured, noisy, summary

LAUNCHES = [LaunchRecord.model_validate(golden.launch_record(1, p, "default", 0.0)) for p in (1, 2, 4, 16, 32)]

START_S, BYTE_S = 1e-6, 1 / 5e9
"""A message."""
FLOP_S = 1e-9
"""A multiplication with its addition in the plain product."""
ELEMENT_S = 4e-9
"""An element made, packed or unpacked by the root."""


def message(count: float) -> float:
    return START_S + BYTE_S * count


def ping_pong(random: np.random.Generator, spread: float = 0.002) -> list[Summary]:
    sizes = [0, 64, 4096, 65536, 1 << 20, 1 << 22]
    given = {"mode": "standard", "completion": "blocking"}
    return [summary(noisy(random, message(n), spread=spread), message_bytes=n, **given) for n in sizes]


def phases(
    random: np.random.Generator, benchmark: str, ranks: int, spread: float, seconds: dict[str, float], **given: Any
) -> list[Summary]:
    """The total and its parts, as statistics give them."""
    total = sum(seconds.values())
    made = [summary(noisy(random, total, spread=spread), benchmark, "time_s", "max_rank", ranks=ranks, **given)]
    communicate = seconds["distribute"] + seconds["exchange"] + seconds["collect"]
    for name, value in (seconds | {"communicate": communicate}).items():
        times = noisy(random, value, spread=spread) if value else [np.zeros(15)] * 6
        made.append(summary(times, benchmark, f"{name}_s", "observed", ranks=ranks, **given))
    return made


def cannon(size: int, side: int, slower: float = 1.0) -> dict[str, float]:
    """On side x side processes the root sends 2 (p - 1) blocks; side - 1 shifts of two; p - 1 come back."""
    p, block = side * side, 8 * size**2 / (side * side)
    return {
        "initialise": 2 * ELEMENT_S * size**2,
        "distribute": 2 * ELEMENT_S * size**2 + slower * 2 * (p - 1) * message(block),
        "compute": FLOP_S * size**3 / p,
        "exchange": slower * 2 * (side - 1) * message(block),
        "collect": ELEMENT_S * size**2 + slower * (p - 1) * message(block),
    }


SIZES = [120, 240, 480]


def cannon_run(slower: float = 1.0, spread: float = 0.002, seed: int = 1) -> list[Summary]:
    random = np.random.default_rng(seed)
    made = ping_pong(random, spread)
    for size in [60, *SIZES]:
        made += phases(random, "algorithm.matmul_cannon", 1, spread, cannon(size, 1), n=size, variant="plain")
    for side in (2, 4):
        for size in SIZES:
            times = cannon(size, side, slower)
            made += phases(random, "algorithm.matmul_cannon", side**2, spread, times, n=size, variant="plain")
    return made


def predictor(benchmark: str, summaries: list[Summary]) -> Predictor:
    return Predictor(all_costs(catalog())[benchmark], measured(summaries, LAUNCHES), "default")


def only(summaries: list[Summary]) -> Prediction:
    found = predictions(measured(summaries, LAUNCHES))
    assert len(found) == 1
    return found[0]


def test_cannon_is_predicted_from_its_lower_levels() -> None:
    found = only(cannon_run())
    validated = [point for point in found.points if point.role == "validated"]
    assert len(validated) == 6
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
        "algorithm.matmul_cannon on one process",
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
    assert [point.role for point in alone] == ["input"] * 4
    assert all(point.error is None for point in alone)


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
                assert point.interval_errors == 5
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


def test_what_lies_beyond_the_measurements_is_said() -> None:
    mine = predictor("algorithm.matmul_cannon", cannon_run())
    inside = mine.point(Problem(480, 16, {"variant": "plain"}))
    beyond = mine.point(Problem(4800, 4, {"variant": "plain"}))
    assert inside.beyond == []
    assert any("compute: rates at sizes outside 60 to 480" in words for words in beyond.beyond)
    assert any(words.startswith("messages outside") for words in beyond.beyond)


def test_more_processes_than_a_host_has_processors_are_said_to_be() -> None:
    mine = predictor("algorithm.matmul_cannon", cannon_run())
    assert mine.point(Problem(480, 16, {"variant": "plain"})).beyond == []
    said = mine.point(Problem(480, 64, {"variant": "plain"})).beyond
    assert said == ["more ranks than the 16 processors of a host: as if it had enough"]


def test_without_a_ping_pong_nothing_is_predicted() -> None:
    found = only([s for s in cannon_run() if s.benchmark != "mpi.latency"])
    assert [point.ranks for point in found.points] == [1] * 4
    assert found.median_error is None
    assert "mpi.latency was not measured inside a host" in found.reason


def test_without_one_process_nothing_is_predicted() -> None:
    found = only([s for s in cannon_run() if s.ranks > 1])
    assert found.points == []
    assert "was not measured on one process" in found.reason


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
    with pytest.raises(UsageError, match="rows=3 does not divide 4 processes"):
        mine.point(Problem(240, 4, {"variant": "plain", "grid_rows": 3}))


def striped(size: int, rows: int, columns: int) -> dict[str, float]:
    p, matrix = rows * columns, 8 * size**2
    return {
        "initialise": 2 * ELEMENT_S * size**2,
        "distribute": ELEMENT_S * size**2
        + (rows - 1) * message(matrix / rows)
        + (columns - 1) * message(matrix / columns),
        "compute": FLOP_S * size**3 / p,
        "exchange": ceil(log2(columns)) * message(matrix / rows) + ceil(log2(rows)) * message(matrix / columns),
        "collect": ELEMENT_S * size**2 + (p - 1) * message(matrix / p),
    }


def test_striped_takes_broadcasts_as_trees_of_messages_where_none_was_measured() -> None:
    random = np.random.default_rng(4)
    made = ping_pong(random)
    name = "algorithm.matmul_striped"
    for rows, columns in ((1, 1), (1, 2), (2, 2), (2, 3)):
        for size in SIZES:
            times = striped(size, rows, columns)
            made += phases(random, name, rows * columns, 0.002, times, n=size, variant="plain")
    found = only(made)
    errors = [point.error for point in found.points if point.error is not None]
    assert len(errors) == 9
    assert max(map(abs, errors)) < 0.03
    assert any("a tree of messages for MPI_Bcast" in name for name in found.parameters_from)


def test_a_measured_collective_goes_before_a_tree() -> None:
    random = np.random.default_rng(5)
    broadcasts = [
        summary(noisy(random, 7e-6), "mpi.broadcast", "time_s", "global", ranks=4, message_bytes=n, call=call)
        for n in (8, 1024)
        for call in ("blocking",)
    ]
    relaxed = {
        "initialise": 1e-3,
        "distribute": 1e-3,
        "compute": 100 * 240**2 * 2e-9,
        "exchange": 0.0,
        "collect": 1e-3,
    }
    given = {"n": 240, "iterations": 100, "method": "jacobi", "exchange": "blocking", "variant": "plain"}
    alone = phases(random, "algorithm.relaxation", 1, 0.002, relaxed, **given)
    mine = predictor("algorithm.relaxation", ping_pong(random) + broadcasts + alone)
    problem = Problem(240, 4, {name: value for name, value in given.items() if name != "n"})
    point = mine.point(problem)
    halos = 99 * (message(8 * 120) + message(8 * 120))
    expected = 1e-3 + 1e-3 + 3 * message(8 * 122**2) + 1e-3 + 3 * message(8 * 120**2) + halos
    expected += 100 * 7e-6 + 100 * 2 * message(8) + relaxed["compute"] / 4
    assert point.total_s.value == pytest.approx(expected, rel=0.03)


def test_tuned_relaxation_tells_its_change_by_one_call() -> None:
    def called(variant: str) -> list[str]:
        steps = relaxation.COSTS.steps(Problem(240, 4, {"variant": variant, "iterations": 10}))
        return [one.routine for one in steps if isinstance(one, Collective)]

    halos = ["MPI_Alltoallv"] * 2  # messages that cross, along rows and columns
    assert called("plain") == [*halos, "MPI_Reduce", "MPI_Bcast"]
    assert called("tuned") == [*halos, "MPI_Allreduce"]


def test_a_broadcast_into_fresh_buffers_goes_before_one_into_used() -> None:
    random = np.random.default_rng(9)
    made = ping_pong(random)
    for size in SIZES:
        made += phases(random, "algorithm.matmul_striped", 1, 0.002, striped(size, 1, 1), n=size, variant="plain")
        cold = noisy(random, 5e-4, spread=0.002)
        made.append(summary(cold, "operation.broadcast", "time_s", "global", ranks=2, n=size, buffers="cold"))
        warm = noisy(random, 1e-4, spread=0.002)
        made.append(summary(warm, "operation.broadcast", "time_s", "global", ranks=2, n=size, buffers="warm"))
        used = noisy(random, 1e-4, spread=0.002)
        made.append(summary(used, "mpi.broadcast", "time_s", "global", ranks=2, message_bytes=8 * size**2))
    mine = predictor("algorithm.matmul_striped", made)
    point = mine.point(Problem(240, 2, {"variant": "plain"}))
    truth = striped(240, 1, 2)
    expected = truth["distribute"] + truth["collect"] + 5e-4
    assert point.communicate_s.value == pytest.approx(expected, rel=0.03)


def test_overlapped_halos_cost_only_what_the_sweep_does_not_hide() -> None:
    random = np.random.default_rng(6)
    given = {"iterations": 100, "method": "jacobi", "variant": "plain"}
    made = ping_pong(random)
    for exchange in ("blocking", "overlapped"):
        seconds = {"initialise": 1e-3, "distribute": 1e-3, "compute": 0.1, "exchange": 0.0, "collect": 1e-3}
        made += phases(random, "algorithm.relaxation", 1, 0.002, seconds, n=240, exchange=exchange, **given)
    mine = predictor("algorithm.relaxation", made)
    blocking, hidden = (mine.point(Problem(240, 4, given | {"exchange": e})) for e in ("blocking", "overlapped"))
    saved = blocking.total_s.value - hidden.total_s.value
    assert saved == pytest.approx(99 * 2 * message(8 * 120), rel=0.15)


def test_a_sort_counts_its_merge_at_the_plain_sorts_rate() -> None:
    random = np.random.default_rng(7)
    made = ping_pong(random)
    count = 1 << 18
    for variant, given, compute in (
        ("plain", "uniform", 5e-9 * count * 18),
        ("plain", "sorted", 1e-9 * count * 18),
        ("tuned", "uniform", 4e-9 * count),
    ):
        seconds = {"initialise": 1e-3, "distribute": 1e-4, "compute": compute, "exchange": 0.0, "collect": 1e-4}
        for n, factor in ((count, 1.0), (count // 4, 16 / 18 / 4 if variant == "plain" else 0.25)):
            scaled = {name: value * factor for name, value in seconds.items()}
            made += phases(random, "algorithm.sort_psrs", 1, 0.002, scaled, n=n, variant=variant, input=given)
    mine = predictor("algorithm.sort_psrs", made)
    share = count // 4
    tuned = mine.point(Problem(count, 4, {"variant": "tuned", "input": "uniform"}))
    assert tuned.compute_s.value == pytest.approx(share * (4e-9 + 2 * 5e-9), rel=0.03)
    scattered = 1e-4 * share / count  # what a process gets in the exchange comes into fresh memory
    pivots = 3 * message(32) + 2 * message(24) + 3 * message(4) + 3 * message(share)
    around = 2e-4 + 3 * message(4 * share) + 3 * message(4) + 3 * message(4 * share)
    assert tuned.communicate_s.value == pytest.approx(scattered + pivots + around, rel=0.03)
    plain = mine.point(Problem(count, 4, {"variant": "plain", "input": "uniform"}))
    assert plain.compute_s.value == pytest.approx(share * (5e-9 * 16 + 2 * 5e-9 + 1e-9 * 16), rel=0.03)


def test_strassen_has_seven_processes_or_one() -> None:
    costs = all_costs(catalog())["algorithm.matmul_strassen"]
    assert costs.refuses(Problem(256, 4, {})) == "4 processes: must be 1 or 7"
    steps = [
        step for step in costs.steps(Problem(256, 7, {"schedule": "rescheduled"})) if isinstance(step, Messages)
    ]
    assert [(step.count, step.bytes) for step in steps] == [(6, 8 * 128**2), (3, 8 * 128**2)]


def test_messages_between_hosts_are_asked_for_only_where_they_were_measured() -> None:
    below = MeasuredCosts(measured(ping_pong(np.random.default_rng(8)), LAUNCHES), "default")
    assert below.host_room == 16
    assert not below.between_hosts(64), "only one host was measured: as though it had processors for all"
    with pytest.raises(NotMeasuredError, match="between hosts"):
        below.messages(Messages("exchange", 1, 8), outside=True)


def test_two_ranks_are_on_two_hosts_where_the_run_had_none_on_one() -> None:
    record = golden.launch_record(1, 2, "default", 0.0)
    for rank, process in enumerate(record["processes"]):
        process["host"] = f"host{rank}"
    apart = [LaunchRecord.model_validate(record)]
    messages = measured(ping_pong(np.random.default_rng(8)), apart)
    assert MeasuredCosts(messages, "default").between_hosts(2)
    assert not MeasuredCosts(messages, "default").between_hosts(1)
    both = MeasuredCosts(measured(ping_pong(np.random.default_rng(8)), apart + LAUNCHES), "default")
    assert not both.between_hosts(2)
    assert both.between_hosts(17)
    four = [one for one in LAUNCHES if one.ranks == 4]  # of a program, on one host
    assert not MeasuredCosts(measured(ping_pong(np.random.default_rng(8)), apart + four), "default").between_hosts(
        4
    )


def test_a_collective_without_a_root_costs_what_it_does_back_to_back() -> None:
    """The first one waits for the latest process; those behind it begin before all have ended."""
    random = np.random.default_rng(1)
    for benchmark, routine, factor in (("mpi.alltoallv", "MPI_Alltoallv", 3), ("mpi.broadcast", "MPI_Bcast", 5)):
        made = [
            summary(noisy(random, times * 1e-5), benchmark, "time_s", definition, ranks=4, message_bytes=4096)
            for definition, times in (("global", 5), ("streaming", 3))
        ]
        made[1] = made[1].model_copy(update={"primary": False})
        step = Collective("exchange", routine, 2, 4096, 4, messages=3)
        costs = MeasuredCosts(measured([*ping_pong(random), *made], LAUNCHES), "default")
        time_s, _, _ = costs.collective(step, outside=False, together=step.ranks)
        assert time_s[0] == pytest.approx(2 * factor * 1e-5, rel=0.05)


CELL_S = 3e-9
"""A cell of a flow through all iterations of a run."""
ITERATIONS = 40
FLOW_STEPS = 10


def flow(n: int, ranks: int, hidden: bool) -> dict[str, float]:
    """Slabs of a periodic box: two neighbors, halos of three velocities, half of the pressures at a time.

    Between two rows of these lie four more doubles.
    """
    compute = CELL_S * n**2 * ceil(n / ranks)
    if ranks == 1:
        return dict.fromkeys(("initialise", "distribute", "exchange", "collect"), 0.0) | {"compute": compute}
    pressures = 4 * ITERATIONS * message(4 * n**2 + 32 * (n - 1))
    others = FLOW_STEPS * (2 * message(24 * n**2) + message(8 * n**2))
    others += ITERATIONS / 4 * ceil(log2(ranks)) * message(8)
    shown = max(pressures - compute, 0.0) if hidden else pressures
    return {"initialise": 0.0, "distribute": 0.0, "compute": compute, "exchange": others + shown, "collect": 0.0}


def flow_run(exchange: str) -> list[Summary]:
    random = np.random.default_rng(3)
    given = {"steps": FLOW_STEPS, "partition": "slabs", "case": "beltrami", "depth": 0}
    made = ping_pong(random)
    for n in (32, 64):
        # One process runs with the defaults of how several exchange.
        alone = flow(n, 1, hidden=False)
        made += phases(random, "application.cfd", 1, 0.002, alone, n=n, exchange="blocking", **given)
        counted = [np.full(15, float(ITERATIONS))] * 6
        made.append(
            summary(
                counted,
                "application.cfd",
                "iterations",
                "observed",
                1,
                unit="1",
                n=n,
                exchange="blocking",
                **given,
            )
        )
        for ranks in (2, 4):
            times = flow(n, ranks, hidden=exchange == "overlapped")
            made += phases(random, "application.cfd", ranks, 0.002, times, n=n, exchange=exchange, **given)
    return made


@pytest.mark.parametrize("exchange", ["blocking", "overlapped"])
def test_declared_steps_may_depend_on_a_choice_and_on_what_one_process_counted(exchange: str) -> None:
    found = next(one for one in predictions(measured(flow_run(exchange), LAUNCHES)) if one.points)
    validated = [point for point in found.points if point.role == "validated"]
    assert len(validated) == 4
    for point in validated:
        assert point.error == pytest.approx(0, abs=0.03), (point.size, point.ranks)


def test_steps_of_another_choice_cost_nothing() -> None:
    costs = all_costs(catalog())["application.cfd"]
    given = {"steps": 1, "depth": 0, "case": "beltrami", "exchange": "blocking"}

    def faces(partition: str, ranks: int) -> list[float]:
        problem = Problem(64, ranks, given | {"partition": partition}, {"iterations": 4.0})
        steps = list(costs.steps(problem))
        shifts = [step for step in steps if isinstance(step, Collective) and step.routine == "MPI_Alltoallv"]
        exchanges = [step for step in steps if isinstance(step, NeighborExchange)]
        return [step.bytes for step in shifts] + [step.neighbors * step.bytes for step in exchanges]

    assert faces("slabs", 16) == [24 * 64**2, 8 * 64**2, 2 * (4 * 64**2 + 32 * 63)]
    assert faces("pencils", 16) == [24 * 64**2 / 4, 8 * 64**2 / 4, 4 * (4 * 64**2 / 4)]
    assert faces("slabs", 1) == []


def test_a_rank_without_neighbors_exchanges_nothing() -> None:
    flow = catalog()["application.cfd"]
    (step, *_) = (one for one in flow.costs if one.kind == "neighbor_exchange")
    declared = step.model_copy(update={"parameters": {}, "at_once": "p-2"})
    costs = Declared(flow.model_copy(update={"costs": [declared]}))

    def neighbors(ranks: int) -> list[int]:
        steps = costs.steps(Problem(64, ranks, {}, {"iterations": 4.0}))
        return [one.neighbors for one in steps if isinstance(one, NeighborExchange)]

    assert neighbors(2) == []
    assert neighbors(4) == [2]


def test_a_climate_model_is_predicted_on_every_grid() -> None:
    """With the same rate on one process, grids differ by what they send; a truncation is a size."""
    random = np.random.default_rng(1)
    given: dict[str, Value] = {
        "levels": 4,
        "steps": 24,
        "case": "zonal",
        "variant": "plain",
        "fft": "transposition",
    }
    given |= {"legendre": "transposition", "exchange": "blocking"}
    made = ping_pong(random)
    for truncation, seconds_ in (("T21", 0.004), ("T42", 0.03)):
        times = dict.fromkeys(("initialise", "distribute", "exchange", "collect"), 0.0) | {"compute": seconds_}
        name = "application.shallow_water"
        made += phases(random, name, 1, 0.002, times, resolution=truncation, grid_rows=0, **given)
    model = predictor("application.shallow_water", made)
    found = {rows: model.point(Problem(42, 4, given | {"grid_rows": rows})) for rows in (1, 2, 4)}
    # Four transpositions along the row, each of three messages: 8 pairs of latitudes by 32 longitudes or some
    # 43/4 wave numbers (even and odd, complex), of four or five fields in four levels.
    slabs = [8 * points * fields * 4 * 8 for fields in (4, 5) for points in (2 * 32, 4 * 43 / 4)]
    assert found[1].communicate_s.value == pytest.approx(24 * sum(3 * message(each) for each in slabs), rel=0.04)
    assert found[4].communicate_s.value < found[2].communicate_s.value < found[1].communicate_s.value
    for one in found.values():
        assert 0.03 / 4 <= one.compute_s.value * 1.01 < 0.03 / 3
    with pytest.raises(UsageError, match="grid_rows=3 does not divide 4 processes"):
        model.point(Problem(42, 4, given | {"grid_rows": 3}))


def test_an_all_to_all_costs_exchanges_of_pairs_where_these_were_measured() -> None:
    """Messages that cross take three times as long here; what was measured on as many ranks counts before."""
    random = np.random.default_rng(1)
    all_to_all = Collective("exchange", "MPI_Alltoallv", 2, 4096, 4, messages=3)
    below = ping_pong(random)
    of_ranks = {
        ranks: summary(noisy(random, time_s), "mpi.alltoallv", "time_s", "global", ranks=ranks, message_bytes=4096)
        for ranks, time_s in ((2, 3 * message(4096)), (4, 5 * message(4096)))
    }
    for known, factor in (((), 3), ((2,), 9), ((2, 4), 5)):
        made = [*below, *(of_ranks[ranks] for ranks in known)]
        time_s, _, _ = MeasuredCosts(measured(made, LAUNCHES), "default").collective(
            all_to_all, outside=False, together=all_to_all.ranks
        )
        assert time_s[0] == pytest.approx(2 * factor * message(4096), rel=0.05)


def test_groups_cost_what_they_cost_beside_each_other_where_that_was_measured() -> None:
    """A row of a grid of 2 x 2 processes exchanges while the other one does."""
    random = np.random.default_rng(1)
    step = Collective("exchange", "MPI_Alltoallv", 2, 4096, 2, messages=1)
    alone, beside, all_four = (
        summary(noisy(random, time_s), "mpi.alltoallv", "time_s", "global", message_bytes=4096, **given)
        for time_s, given in (
            (3 * message(4096), {"ranks": 2, "group_ranks": 0}),
            (4 * message(4096), {"ranks": 4, "group_ranks": 2}),
            (7 * message(4096), {"ranks": 4, "group_ranks": 0}),
        )
    )
    for known, factor, name in (
        ((alone, all_four), 3, "mpi.alltoallv on 2 ranks"),
        ((alone, beside, all_four), 4, "mpi.alltoallv on 2 groups of 2 ranks"),
    ):
        costs = MeasuredCosts(measured([*ping_pong(random), *known], LAUNCHES), "default")
        time_s, origin, _ = costs.collective(step, outside=False, together=4)
        assert origin == name
        assert time_s[0] == pytest.approx(2 * factor * message(4096), rel=0.05)
        # On two processes there is one group, and on eight two groups say nothing.
        for together in (2, 8):
            time_s, _, _ = costs.collective(step, outside=False, together=together)
            assert time_s[0] == pytest.approx(2 * 3 * message(4096), rel=0.05)


SPREAD = Placement("node")
SPREAD_LAUNCHES = [
    one.model_copy(
        update={
            "placement": SPREAD,
            "processes": [process.model_copy(update={"host": f"node{process.rank}"}) for process in one.processes],
        }
    )
    for one in LAUNCHES
]


def test_groups_inside_hosts_say_nothing_of_pairs_between_hosts() -> None:
    random = np.random.default_rng(1)
    step = Collective("exchange", "MPI_Alltoallv", 2, 4096, 2, messages=1)
    between = summary(
        noisy(random, 100 * message(4096)),
        "mpi.alltoallv",
        "time_s",
        "global",
        placement=SPREAD,
        message_bytes=4096,
        group_ranks=0,
    )
    inside = summary(
        noisy(random, 4 * message(4096)),
        "mpi.alltoallv",
        "time_s",
        "global",
        ranks=4,
        message_bytes=4096,
        group_ranks=2,
    )
    below = measured([*ping_pong(random), between, inside], [*LAUNCHES, *SPREAD_LAUNCHES])
    for outside, factor in ((True, 100), (False, 4)):
        time_s, _, _ = MeasuredCosts(below, "default").collective(step, outside=outside, together=4)
        assert time_s[0] == pytest.approx(2 * factor * message(4096), rel=0.05)


def test_groups_that_were_measured_with_other_sizes_do_not_replace_one_group_with_these() -> None:
    random = np.random.default_rng(1)
    step = Collective("exchange", "MPI_Alltoallv", 2, 64, 2, messages=1)
    alone = [
        summary(noisy(random, 3 * message(size)), "mpi.alltoallv", "time_s", "global", message_bytes=size)
        for size in (64, 1 << 20)
    ]
    given = {"ranks": 4, "message_bytes": 1 << 20, "group_ranks": 2}
    beside = summary(noisy(random, 4 * message(1 << 20)), "mpi.alltoallv", "time_s", "global", **given)
    costs = MeasuredCosts(measured([*ping_pong(random), *alone, beside], LAUNCHES), "default")
    time_s, _, _ = costs.collective(step, outside=False, together=4)
    assert time_s[0] == pytest.approx(2 * 3 * message(64), rel=0.05)


def test_an_operation_on_fresh_buffers_goes_before_groups_of_the_library() -> None:
    random = np.random.default_rng(1)
    step = Collective("distribute", "MPI_Bcast", 1, 8 * 64**2, 2, fresh=True)
    fresh = summary(
        noisy(random, 9e-6), "operation.broadcast", "time_s", "global", buffers="cold", n=64, work_bytes=16 * 64**2
    )
    given = {"ranks": 4, "message_bytes": 8 * 64**2, "group_ranks": 2}
    groups = summary(noisy(random, 2e-6), "mpi.broadcast", "time_s", "global", **given)
    costs = MeasuredCosts(measured([*ping_pong(random), fresh, groups], LAUNCHES), "default")
    time_s, origin, _ = costs.collective(step, outside=False, together=4)
    assert origin == "operation.broadcast on 2 ranks"
    assert time_s[0] == pytest.approx(9e-6, rel=0.05)


def exchanges(
    random: np.random.Generator,
    ranks: int,
    times: dict[int, float],
    dimensions: int = 1,
    placement: Placement = Placement(),
) -> list[Summary]:
    given = {"ranks": ranks, "dimensions": dimensions, "call": "nonblocking", "placement": placement}
    return [
        summary(noisy(random, time_s), "mpi.neighbor_exchange", "time_s", "global", message_bytes=size, **given)
        for size, time_s in times.items()
    ]


def test_an_exchange_with_neighbors_costs_what_it_costs_on_a_ring() -> None:
    """On as many ranks, else on the most that were measured; 10 us of the time are latency."""
    random = np.random.default_rng(1)
    two, four = {1024: 15e-6, 4096: 30e-6}, {1024: 20e-6, 4096: 50e-6}
    known = [*exchanges(random, 2, two), *exchanges(random, 4, four)]
    costs = MeasuredCosts(measured([*ping_pong(random), *known], LAUNCHES), "default")
    for ranks, neighbors, each_s, name in (
        (2, 2, 30e-6, "2 ranks"),
        (4, 2, 50e-6, "4 ranks"),
        (16, 2, 50e-6, "4 ranks"),
        (16, 1, 30e-6, "4 ranks"),
        (16, 4, 90e-6, "4 ranks"),
    ):
        step = NeighborExchange("exchange", 8, 4096, ranks, neighbors)
        time_s, origin, _ = costs.neighbor_exchange(step, outside=False)
        assert origin == f"mpi.neighbor_exchange on {name}"
        assert time_s[0] == pytest.approx(8 * each_s, rel=0.06)


@pytest.mark.parametrize(
    ("known", "neighbors"),
    [
        # Pairs between hosts, not a ring inside one.
        ([("ring", 4, 50e-6), ("pairs", 2, 5e-3)], 2),
        # A ring between hosts, not a grid inside one.
        ([("grid", 4, 50e-6), ("spread ring", 4, 5e-3)], 4),
    ],
)
def test_exchanges_inside_a_host_say_nothing_of_those_between_hosts(
    known: list[tuple[str, int, float]], neighbors: int
) -> None:
    random = np.random.default_rng(1)
    made = ping_pong(random)
    for kind, ranks, time_s in known:
        if kind == "pairs":
            pair = {"ranks": ranks, "message_bytes": 4096, "placement": SPREAD}
            made.append(summary(noisy(random, time_s), "mpi.alltoallv", "time_s", "global", **pair))
        else:
            dimensions = 2 if kind == "grid" else 1
            placement = SPREAD if kind.startswith("spread") else Placement()
            made += exchanges(random, ranks, {4096: time_s}, dimensions, placement)
    costs = MeasuredCosts(measured(made, [*LAUNCHES, *SPREAD_LAUNCHES]), "default")
    predicted_s, _, _ = costs.neighbor_exchange(NeighborExchange("exchange", 8, 4096, 4, neighbors), outside=True)
    assert predicted_s[0] == pytest.approx(8 * 2 * 5e-3, rel=0.05)


def test_an_exchange_takes_what_was_measured_with_such_sizes() -> None:
    random = np.random.default_rng(1)
    large = exchanges(random, 4, {1 << 20: 10e-3})
    small = exchanges(random, 2, {1024: 30e-6, 4096: 50e-6})
    pairs = [
        summary(noisy(random, time_s), "mpi.alltoallv", "time_s", "global", ranks=2, message_bytes=size)
        for size, time_s in {1024: 20e-6, 4096: 20e-6}.items()
    ]
    step = NeighborExchange("exchange", 8, 4096, 4, 2)
    for known, each_s in (([*large, *small, *pairs], 50e-6), ([*large, *pairs], 20e-6), (large, 10e-3)):
        costs = MeasuredCosts(measured([*ping_pong(random), *known], LAUNCHES), "default")
        time_s, _, _ = costs.neighbor_exchange(step, outside=False)
        assert time_s[0] == pytest.approx(8 * each_s, rel=0.05)


def test_an_exchange_on_a_grid_costs_what_it_costs_on_one_of_as_many_dimensions() -> None:
    random = np.random.default_rng(1)
    known = [*exchanges(random, 4, {4096: 50e-6}), *exchanges(random, 4, {4096: 70e-6}, dimensions=2)]
    costs = MeasuredCosts(measured([*ping_pong(random), *known], LAUNCHES), "default")
    for neighbors, each_s in ((2, 50e-6), (4, 70e-6)):
        time_s, _, _ = costs.neighbor_exchange(NeighborExchange("exchange", 8, 4096, 16, neighbors), False)
        assert time_s[0] == pytest.approx(8 * each_s, rel=0.05)


@pytest.mark.parametrize(
    ("times", "expected_s"),
    [
        ({1024: 15e-6, 4096: 30e-6}, (30e-6, 50e-6, 90e-6)),
        # Of one size, or of large ones, nothing tells latency from the rest.
        ({4096: 30e-6}, (30e-6, 60e-6, 120e-6)),
        ({65536: 1.30e-3, 131072: 1.31e-3}, (1.31e-3, 2.62e-3, 5.24e-3)),
        # The latency is at most the time of the smallest size.
        ({1024: 30e-6, 4096: 20e-6}, (20e-6, 20e-6, 20e-6)),
    ],
)
def test_messages_to_neighbors_share_the_latency_of_pairs_where_no_ring_was_measured(
    times: dict[int, float], expected_s: tuple[float, ...]
) -> None:
    random = np.random.default_rng(1)
    known = [
        summary(noisy(random, time_s), "mpi.alltoallv", "time_s", "global", ranks=2, message_bytes=size)
        for size, time_s in times.items()
    ]
    costs = MeasuredCosts(measured([*ping_pong(random), *known], LAUNCHES), "default")
    for neighbors, each_s in zip((1, 2, 4), expected_s, strict=True):
        step = NeighborExchange("exchange", 8, max(times), 2, neighbors)
        time_s, _, _ = costs.neighbor_exchange(step, outside=False)
        assert time_s[0] == pytest.approx(8 * each_s, rel=0.06)


def test_messages_to_neighbors_cost_messages_where_nothing_else_was_measured() -> None:
    costs = MeasuredCosts(measured(ping_pong(np.random.default_rng(1)), LAUNCHES), "default")
    time_s, _, _ = costs.neighbor_exchange(NeighborExchange("exchange", 8, 4096, 4, 2), False)
    assert time_s[0] == pytest.approx(16 * message(4096), rel=0.05)


def test_messages_that_cross_take_the_all_to_all_of_two_that_has_more_sizes() -> None:
    random = np.random.default_rng(1)
    made = ping_pong(random)
    for benchmark, sizes, factor in (
        ("mpi.alltoallv", (1024, 65536), 2),
        ("mpi.alltoall", (8, 1024, 4096, 65536), 4),
    ):
        for size in sizes:
            times = noisy(random, factor * message(size))
            made.append(summary(times, benchmark, "time_s", "global", ranks=2, message_bytes=size))
    time_s, _, _ = MeasuredCosts(measured(made, LAUNCHES), "default").collective(
        crossing("exchange", 3, 4096), outside=False, together=2
    )
    assert time_s[0] == pytest.approx(3 * 4 * message(4096), rel=0.05)


def test_runs_of_an_emulated_cluster_are_predicted_like_others() -> None:
    here = cannon_run()
    emulated = [one.model_copy(update={"origin": "emulated"}) for one in here]
    assert [point.total_s for point in only(emulated).points] == [point.total_s for point in only(here).points]
    assert predictions(measured([one.model_copy(update={"origin": "imported"}) for one in here], LAUNCHES)) == []


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
