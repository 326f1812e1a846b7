"""The steps of each program: what it is predicted to send and to compute, against known truth."""

from __future__ import annotations

from math import ceil, log2

import numpy as np
import pytest

from hpcscope.catalog.benchmark import Value
from hpcscope.errors import UsageError
from hpcscope.models.prediction.costs import relaxation
from hpcscope.models.prediction.costs.declared import Declared
from hpcscope.models.prediction.costs.steps import CollectiveStep, Messages, NeighborExchange, Problem
from hpcscope.models.prediction.prediction import all_costs, predictions
from hpcscope.statistics.summary import Summary
from tests.declared import catalog
from tests.messages import numbers
from tests.models.curves import measured, noisy, summary
from tests.models.known_costs import LAUNCHES, SIZES, message, only, phases, ping_pong, predictor, striped


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
    assert len(errors) == 3 * len(SIZES)
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
        "initialize": 1e-3,
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
        return [one.routine for one in steps if isinstance(one, CollectiveStep)]

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
        seconds = {"initialize": 1e-3, "distribute": 1e-3, "compute": 0.1, "exchange": 0.0, "collect": 1e-3}
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
        seconds = {"initialize": 1e-3, "distribute": 1e-4, "compute": compute, "exchange": 0.0, "collect": 1e-4}
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
    assert numbers(costs.refuses(Problem(256, 4, {}))) == [4, 1, 7], "found, and allowed"
    steps = [
        step for step in costs.steps(Problem(256, 7, {"schedule": "rescheduled"})) if isinstance(step, Messages)
    ]
    assert [(step.count, step.bytes) for step in steps] == [(6, 8 * 128**2), (3, 8 * 128**2)]


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
        return dict.fromkeys(("initialize", "distribute", "exchange", "collect"), 0.0) | {"compute": compute}
    pressures = 4 * ITERATIONS * message(4 * n**2 + 32 * (n - 1))
    others = FLOW_STEPS * (2 * message(24 * n**2) + message(8 * n**2))
    others += ITERATIONS / 4 * ceil(log2(ranks)) * message(8)
    shown = max(pressures - compute, 0.0) if hidden else pressures
    return {"initialize": 0.0, "distribute": 0.0, "compute": compute, "exchange": others + shown, "collect": 0.0}


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
        shifts = [step for step in steps if isinstance(step, CollectiveStep) and step.routine == "MPI_Alltoallv"]
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
        times = dict.fromkeys(("initialize", "distribute", "exchange", "collect"), 0.0) | {"compute": seconds_}
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
    with pytest.raises(UsageError, match=r"grid_rows=3\b.*\b4\b"):
        model.point(Problem(42, 4, given | {"grid_rows": 3}))
