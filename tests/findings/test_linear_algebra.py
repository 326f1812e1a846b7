"""Findings about dense linear algebra: each fires where a fault was put in, and not where all is well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.machine.machine import Blas
from hpcscope.statistics.summary import Summary
from tests.findings.faulty_runs import run_kinds, with_samples, with_summaries, with_usable
from tests.models.curves import noisy, summary

LINPACK = "algorithm.linpack"
DEFAULT = {"n": 4000, "block": 128, "grid_rows": 0, "grid_columns": 0, "look_ahead": 1}


def solved(time_s: float, ranks: int = 4, parts: dict[str, float] | None = None, **given: Any) -> list[Summary]:
    """A LINPACK of so many seconds, with parts as shares of it."""
    random = np.random.default_rng(round(time_s * 1e6))
    times = {"time_s": time_s, **{part: share * time_s for part, share in (parts or {}).items()}}
    return [
        summary(
            noisy(random, seconds),
            LINPACK,
            metric,
            "max_rank" if metric == "time_s" else "observed",
            ranks=ranks,
            **{**DEFAULT, **given},
        )
        for metric, seconds in times.items()
    ]


def found(kind: str, run: Run, *cases: list[Summary]) -> list[Finding]:
    every = [one for case in cases for one in case]
    return run_kinds()[kind](with_summaries(run, every))


def test_a_grid_that_nobody_asked_for_and_that_is_slower_is_advice(healthy_run: Run) -> None:
    (finding,) = found("process_grid_unsuitable", healthy_run, solved(1.4), solved(1.0, grid_rows=1))
    assert (finding.code, finding.severity) == ("process-grid-unsuitable", "advice")
    assert (finding.where["grid"], finding.where["better_grid"]) == ("2 x 2", "1 x 4")
    assert "grid_rows=1 " in finding.advice
    assert finding.lost is not None
    assert 0.2 < finding.lost < 0.4


def test_a_grid_that_was_asked_for_is_information(healthy_run: Run) -> None:
    (finding,) = found("process_grid_unsuitable", healthy_run, solved(1.0), solved(1.4, grid_columns=1))
    assert (finding.code, finding.severity) == ("process-grid-unsuitable", "information")
    assert (finding.where["grid"], finding.where["better_grid"]) == ("4 x 1", "2 x 2")


def test_grids_of_different_problems_are_not_compared(healthy_run: Run) -> None:
    others = [solved(1.0, grid_rows=1, n=2000), solved(1.0, grid_rows=1, block=64), solved(0.5, ranks=2)]
    assert found("process_grid_unsuitable", healthy_run, solved(1.4), *others[:1], *others[2:]) == []
    assert found("process_grid_unsuitable", healthy_run, solved(1.4), others[1]) == []


def test_grids_that_are_alike_are_well(healthy_run: Run) -> None:
    assert found("process_grid_unsuitable", healthy_run, solved(1.01), solved(1.0, grid_rows=1)) == []
    # The same grid by another name.
    assert found("process_grid_unsuitable", healthy_run, solved(1.0), solved(1.0, grid_rows=2)) == []


def test_a_block_off_its_optimum_is_named_with_the_better_one(healthy_run: Run) -> None:
    blocks = [solved(1.3, block=32), solved(1.0, block=128), solved(1.1, block=256)]
    (finding,) = found("process_grid_unsuitable", healthy_run, *blocks)
    assert finding.code == "block-off-optimum"
    assert (finding.where["block"], finding.where["better_block"]) == (32, 128)
    assert "block=128 " in finding.advice
    assert found("process_grid_unsuitable", healthy_run, solved(1.02, block=64), solved(1.0)) == []


def test_panels_on_the_critical_path_are_found(healthy_run: Run) -> None:
    slow = solved(1.0, parts={"panel_s": 0.1, "broadcast_s": 0.4, "update_s": 0.5})
    (finding,) = found("panel_on_critical_path", healthy_run, slow)
    assert finding.code == "panel-on-critical-path"
    assert finding.where["part"] == "broadcast"
    assert finding.lost == pytest.approx(0.4, abs=0.02)
    assert "look_ahead=1" not in finding.advice
    without = solved(1.0, parts={"panel_s": 0.5, "broadcast_s": 0.1}, look_ahead=0)
    (finding,) = found("panel_on_critical_path", healthy_run, without)
    assert finding.where["part"] == "panel"
    assert "look_ahead=1" in finding.advice


def test_a_linpack_that_computes_is_well(healthy_run: Run) -> None:
    well = {"panel_s": 0.1, "broadcast_s": 0.1, "update_s": 0.8}
    assert found("panel_on_critical_path", healthy_run, solved(1.0, parts=well)) == []
    # One process waits for none; of several sizes the largest counts.
    bad = {"panel_s": 0.5, "broadcast_s": 0.0001}
    assert found("panel_on_critical_path", healthy_run, solved(1.0, ranks=1, parts=bad)) == []
    assert (
        found("panel_on_critical_path", healthy_run, solved(0.1, n=500, parts=bad), solved(1.0, parts=well)) == []
    )


def threaded(run: Run, threads: str, benchmark: str = LINPACK, processors: int = 2) -> list[Finding]:
    """A run whose every case was of one benchmark, on hosts of so many processors."""
    cases = [
        replace(one, case=one.case.model_copy(update={"benchmark": benchmark})) for one in run.raw_samples.cases
    ]
    here = with_usable(with_samples(run, cases=cases), processors)
    machine = here.machine.model_copy(update={"environment": {"OPENBLAS_NUM_THREADS": threads}})
    assert machine.build is not None
    blas = Blas(
        name="OpenBLAS", version="0.3", origin="embedded", library="", prefix="", configuration="", core="Zen"
    )
    build = machine.build.model_copy(update={"blas": blas})
    return run_kinds()["threads_over_cores"](here.replaced(machine=machine.model_copy(update={"build": build})))


def test_threads_times_processes_over_processors_are_found(healthy_run: Run) -> None:
    (finding,) = threaded(healthy_run, "8", processors=8)
    assert finding.code == "threads-over-cores"
    evidence = {each.what: each.value for each in finding.evidence}
    assert evidence == {
        "OPENBLAS_NUM_THREADS": 8,
        "ranks on node1": finding.where["ranks"],
        "processors usable on node1": 8,
    }
    assert "OPENBLAS_NUM_THREADS" in finding.advice


def test_threads_that_fit_or_that_no_product_uses_are_well(healthy_run: Run) -> None:
    assert threaded(healthy_run, "1") == []
    assert threaded(healthy_run, "2", processors=64) == []
    assert threaded(healthy_run, "8", benchmark="mpi.latency", processors=8) == []
    assert threaded(healthy_run, "", processors=8) == []
