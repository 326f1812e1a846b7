"""A run of format 1, as an earlier version wrote it: everything that reads runs reads it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from scope.catalog.catalog import read as read_catalog
from scope.comparison.compare import compare
from scope.comparison.efficiency import efficiencies
from scope.engine import analysis
from scope.machine.machine import Machine
from scope.models.derive import read_models
from scope.plan.experiment import resolve
from scope.plan.plan import read as read_plan
from scope.report.run import contents, page
from scope.rundirectory import FORMAT, RunDirectory, read_json
from scope.samples.reader import read as read_samples
from scope.statistics.summarise import read_summaries
from tests.cli.scope_command import answered

OLD = Path(__file__).with_name("run")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD, tmp_path / "old"))


def test_its_raw_files_are_upgraded_when_they_are_read() -> None:
    directory = RunDirectory(OLD)
    assert json.loads(directory.machine.read_text())["format"] == 1
    assert read_json(directory.machine, Machine).hosts[0].processor.usable_processors > 0
    catalog = read_catalog(directory.benchmarks)
    cannon = catalog["algorithm.matmul_cannon"]
    assert cannon.parameter["n"].role == "size"
    assert [rung.pattern for rung in cannon.rungs] == ["communication", "arithmetic"]
    samples = read_samples(OLD, catalog)
    assert {one.case.benchmark for one in samples.cases} == {one.name for one in catalog}
    assert all("size" not in one.case.parameters for one in samples.cases)
    assert all(process.processors for launch in samples.launches for process in launch.processes)
    assert all(one.stopped in ("", "precision", "budget", "repetitions") for one in samples.cases)


def test_its_plan_and_experiment_name_its_cases() -> None:
    plan = read_plan(RunDirectory(OLD).plan)
    catalog = read_catalog(RunDirectory(OLD).benchmarks)
    planned = {launch.key(case) for launch in plan.launches for case in launch.cases}
    measured = {one.case.key for one in read_samples(OLD, catalog).cases}
    assert measured <= planned
    assert resolve(RunDirectory(OLD).experiment, {}).sampling.precision > 0


def test_its_derived_files_are_derived_anew_in_memory() -> None:
    before = {file.name: file.read_bytes() for file in OLD.iterdir()}
    kept = json.loads(RunDirectory(OLD).statistics.read_text())["summaries"]
    assert len(read_summaries(OLD)) > len(kept)
    models = read_models(OLD)
    assert {one.subject.benchmark for one in models.speedups} >= {"algorithm.matmul_cannon", "algorithm.summa"}
    assert any(rung.layer == "mpi" and rung.value for ladder in models.ladders for rung in ladder.rungs)
    found = contents.read(OLD)
    assert found.findings
    assert "Cannon" in page.render(OLD)
    assert {file.name: file.read_bytes() for file in OLD.iterdir()} == before


def test_analyze_writes_the_present_format(run: Path) -> None:
    in_memory = read_summaries(run)
    analysis.analyze(run)
    directory = RunDirectory(run)
    for path in (directory.statistics, directory.models, directory.findings):
        assert json.loads(path.read_text())["format"] == FORMAT
    assert read_summaries(run) == in_memory
    assert directory.samples.read_bytes() == (OLD / "samples.jsonl").read_bytes()


def test_the_command_line_shows_and_compares_it(run: Path, tmp_path: Path) -> None:
    shown = answered(tmp_path, "show", str(run), "mpi.latency")
    assert shown.code == 0, shown.errors
    assert "ping-pong" in shown.output or "latency" in shown.output
    drawn = answered(tmp_path, "report", str(run), "--output", "page.html")
    assert drawn.code == 0, drawn.errors
    assert "<html" in (tmp_path / "page.html").read_text()


def test_it_is_compared_with_a_run_of_the_present_format(run: Path) -> None:
    analysis.analyze(run)
    found = compare(OLD, run)
    assert found.obstacles == []
    assert {case.verdict for case in found.cases} <= {"no difference", "incomparable"}
    assert found.counts["no difference"] > 10
    assert efficiencies([OLD, run]).rows
