"""The figure and the tables of applications, of a run that has them and of one that has none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpcscope.cli import show
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.models.scaling.applications import Application, ApplicationPoint
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.report.run import applications
from hpcscope.report.run.figures import computation, side_by_side
from hpcscope.report.terminal.console import grid
from hpcscope.statistics.estimate import Estimate
from tests.declared import catalog
from tests.messages import mentions
from tests.models.curves import noisy, summary

NAME = "application.npb_lu"


def point(ranks: int) -> ApplicationPoint:
    others = 0.1 * (ranks - 1)
    return ApplicationPoint(
        ranks=ranks,
        memory_bytes=1e9 / ranks,
        messages=100.0 * others,
        message_bytes=1e5 * others,
        time_s=Estimate(value=8 / ranks + others),
        compute_s=Estimate(value=8 / ranks, low=7.9 / ranks, high=8.1 / ranks),
        communicate_s=Estimate(value=others),
        idle_s=Estimate(value=0),
        oversubscribed=ranks > 2,
    )


def lu(size: str, *counts: int) -> Application:
    return Application(
        subject=Case.of(catalog(), NAME, {"class": size}, (max(counts), "default", Placement())),
        origin="measured",
        iterations=250,
        operations=1.193e11,
        computation_s=Estimate(value=8, low=7.9, high=8.1) if len(counts) > 1 else None,
        deviation=0.01 if len(counts) > 1 else None,
        reason="" if len(counts) > 1 else "1 rank count",
        points=[point(ranks) for ranks in counts],
    )


@pytest.fixture
def run(golden_run: Path) -> Run:
    read = Run(golden_run)
    return read.replaced(
        benchmarks=catalog(),
        models=read.models.model_copy(update={"applications": [lu("S", 1), lu("A", 1, 2, 4)]}),
    )


def test_computation_lies_on_its_law_and_nothing_is_drawn_of_one_count_or_of_zero(run: Run) -> None:
    (figure,) = computation.figures(run, NAME)
    assert figure.title.endswith(", class A")
    traces = {trace["name"]: trace for trace in figure.traces}
    assert list(traces) == ["compute", "communicate", "a0 / p"], "nobody waited, and one process sends nothing"
    assert (traces["compute"]["x"], traces["compute"]["y"]) == ([1, 2, 4], [8, 4, 2])
    assert traces["communicate"]["x"] == [2, 4]
    assert (traces["a0 / p"]["x"], traces["a0 / p"]["y"]) == ([1, 4], [8, 2])
    assert "8.00 s [7.90, 8.10]" in figure.caption
    assert [row[0] for row in figure.table.rows] == ["NAS LU, class A"] * 3
    assert mentions(figure.table.rows[2][1], "4 ( ... processors)")


def test_every_count_has_its_row_in_the_terminal(run: Run) -> None:
    found = run.models.applications
    static = applications.characterisation(found, run.benchmarks)
    assert [(row[1], row[5]) for row in static.rows] == [("S", "1"), ("A", "1"), ("A", "2"), ("A", "4")]
    assert grid(static.columns, static.rows, applications.WORDS).row_count == 4
    assert mentions(applications.laws(found, run.benchmarks)[0], f"NAS LU, class S: ... {found[0].reason}")


def test_a_run_without_applications_says_so(golden_run: Path) -> None:
    with pytest.raises(UsageError, match=rf"--applications: {golden_run} "):
        show.command(golden_run, [], applications=True)
    with pytest.raises(UsageError, match="mpi: --applications "):
        show.command(golden_run, ["mpi"], applications=True)


def test_rates_stand_by_the_number_of_processes(run: Run) -> None:
    random = np.random.default_rng(3)
    rates = [
        summary(noisy(random, 1e3 * ranks), NAME, "mops_per_s", "observed", ranks, unit="Mop/s", **{"class": "S"})
        for ranks in (4, 1, 2)
    ]
    (figure,) = side_by_side.singles(run.replaced(statistics=rates), NAME)
    assert [mark.name for mark in figure.panels[0].marks] == ["1 rank", "2 ranks", "4 ranks"]
