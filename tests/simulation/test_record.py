"""How wrong simulated figures are, and which lie outside of what was validated."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.catalog.declared import declared
from hpcscope.findings.results import Run
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.simulation.record import Beside, ByFormula, Simulation, beside
from hpcscope.statistics.estimate import Estimate
from tests.messages import numbers


def record(*errors: float, changes: list[str] | None = None) -> Simulation:
    return Simulation(
        **{
            "format": 2,
            "of": "a",
            "simulator": "SimGrid 3.32",
            "collectives": "openmpi",
            "notes": [],
            "inputs": [],
        },
        changes=changes or [],
        validation=[
            Beside(
                **{"benchmark": "mpi.barrier", "label": f"barrier {n}", "ranks": 2**n, "metric": "time_s"},
                **{"unit": "s", "origin": "emulated", "measured": Estimate(value=2.0)},
                simulated=2.0 * (1 + error),
            )
            for n, error in enumerate(errors, 1)
        ],
    )


def case(benchmark: str, ranks: int) -> Case:
    return Case.of(declared(), benchmark, {}, (ranks, "default", Placement()))


def test_the_error_keeps_both_ends_and_has_no_sign_in_its_median() -> None:
    error = record(-0.3, 0.1, 0.2).error_of()
    assert error is not None
    assert (error.cases, error.most_ranks) == (3, 8)
    assert error.median.value == pytest.approx(0.2)
    assert (error.smallest, error.largest) == (pytest.approx(-0.3), pytest.approx(0.2))
    assert "median error 20 % [10 %, 30 %] against 3 emulated cases" in record(-0.3, 0.1, 0.2).accuracy
    assert record().error_of() is None
    assert record(0.1).model_copy(update={"inputs": ["mpi.barrier"]}).error_of() is None
    assert record().accuracy
    assert "%" not in record().accuracy


def test_a_figure_says_why_nothing_validates_it() -> None:
    known = record(0.1, 0.1)
    assert known.beyond(case("mpi.barrier", 4)) == ""
    assert numbers(known.beyond(case("mpi.barrier", 8))) == [4], "the ranks that were measured"
    unmeasured = known.beyond(case("mpi.allreduce", 4))
    changed = record(0.1, changes=["--hosts 9"]).beyond(case("mpi.barrier", 2))
    assert unmeasured
    assert changed
    assert changed != unmeasured


def test_the_error_of_formulas_leaves_out_what_they_were_fitted_to() -> None:
    known = record(0.1, 0.1, 0.1)
    said = [ByFormula(model="a", value=value, fitted=fitted) for value, fitted in ((2.0, True), (3.0, False))]
    with_formulas = known.model_copy(
        update={
            "validation": [
                one.model_copy(update={"formula": formula})
                for one, formula in zip(known.validation, [*said, None], strict=True)
            ]
        }
    )
    error = with_formulas.formula_error_of()
    assert error is not None
    assert (error.cases, error.most_ranks, error.median.value) == (1, 4, pytest.approx(0.5))
    assert "against 1 emulated case" in with_formulas.accuracy_of_formulas
    assert with_formulas.accuracy_of_formulas.count("1 case") == 1, "that they were fitted to, said apart"
    fitted = known.model_copy(
        update={"validation": [with_formulas.validation[0].model_copy(update={"formula": said[0]})]}
    )
    assert fitted.formula_error_of() is None
    assert "1 case" in fitted.accuracy_of_formulas
    assert "%" not in fitted.accuracy_of_formulas
    assert known.accuracy_of_formulas == ""


def test_only_times_of_the_same_case_stand_beside_each_other(golden_run: Path) -> None:
    run = Run(golden_run)
    summaries = list(run.statistics)
    slower = [
        one.model_copy(update={"median": 2 * one.median}) for one in summaries if one.ranks == 4 and one.median
    ]
    found = beside(summaries, slower, run.benchmarks)
    assert {one.ranks for one in found} == {4}
    assert {round(one.error, 9) for one in found} == {1.0}
    assert {"mpi.broadcast", "mpi.barrier"} <= {one.benchmark for one in found}
    assert {one.unit for one in found} == {"s"}
