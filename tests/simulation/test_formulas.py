"""What closed formulas say beside a simulation: the fitted models of a run, and the cost formulas of programs."""

from __future__ import annotations

from math import ceil, log2
from pathlib import Path

import pytest

from hpcscope.findings.results import Run
from hpcscope.simulation.formulas import COSTS, Formulas, time_s
from hpcscope.simulation.record import times
from hpcscope.statistics.summary import Summary


@pytest.fixture(scope="module")
def run(golden_run: Path) -> Run:
    return Run(golden_run)


@pytest.fixture(scope="module")
def formulas(run: Run) -> Formulas:
    return Formulas(run.measurements, run.models.fits)


def measured(run: Run, benchmark: str, ranks: int) -> Summary:
    found = times(run.statistics, run.benchmarks)
    return next(one for one in found if (one.benchmark, one.ranks) == (benchmark, ranks))


def test_a_fit_gives_at_its_points_what_was_fitted(run: Run) -> None:
    seen = set()
    for fit in run.models.fits:
        for point in fit.points:
            ranks = point.ranks or (point.x if fit.variable == "ranks" else fit.subject.ranks)
            size = fit.subject.parameters.get("message_bytes", 0) if fit.variable == "ranks" else point.x
            found = time_s(fit, float(size), int(ranks))
            if found is not None:
                assert found == pytest.approx(point.fitted, rel=1e-3)
                seen.add(fit.model)
    assert {"hockney", "piecewise_hockney", "logarithmic_collective", "logarithmic_broadcast"} <= seen


def test_a_fitted_model_speaks_of_more_ranks(run: Run, formulas: Formulas) -> None:
    barrier = measured(run, "mpi.barrier", 16)
    own, more = (formulas.of(barrier.model_copy(update={"ranks": ranks}), True) for ranks in (16, 64))
    assert own is not None
    assert more is not None
    assert more.value == pytest.approx(1e-6 + 50e-9 * 64 + 0.4e-6 * ceil(log2(64)), rel=0.2)
    assert (own.fitted, more.fitted) == (True, False)


def test_a_program_has_its_cost_formulas_and_an_unknown_case_none(run: Run, formulas: Formulas) -> None:
    said = formulas.of(measured(run, "algorithm.matmul_cannon", 4), False)
    assert said is not None
    assert (said.model, said.fitted) == (COSTS, False)
    broadcast = measured(run, "mpi.broadcast", 4)
    elsewhere = broadcast.model_copy(update={"parameters": broadcast.parameters | {"root": 3}})
    assert formulas.of(broadcast, False) is not None
    assert formulas.of(elsewhere, False) is None
