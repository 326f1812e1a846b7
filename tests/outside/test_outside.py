"""Benchmarks from outside the tree, one of each level: two files each, and every stage of Scope knows them.

No file of Scope names them. What is seen here follows from their declarations alone.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcscope.build import native
from hpcscope.engine import benchmarks
from hpcscope.findings.results import Run
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from hpcscope.models.models import Models
from hpcscope.programs.profiles.machine_comparison import FILE, MachineComparison
from hpcscope.report.order import LEVELS
from hpcscope.rundirectory import read_json
from hpcscope.samples.records import CaseRecord
from tests.cli.scope_command import BRIEF, answered, rewrite_times, scope
from tests.installed_mpi import embedded  # noqa: F401
from tests.measure.conftest import RECORD, start
from tests.patience import PATIENCE_S

HERE = Path(__file__).parent
BENCHMARKS = HERE / "benchmarks"
TITLES = {
    "node.fill": "memory fill",
    "network.shared_memory": "shared-memory ping-pong",
    "mpi.matched_receive": "matched ping-pong",
    "operation.row_broadcast": "broadcast row by row",
    "algorithm.dot_product": "dot product",
    "application.heat": "heat in a rod",
    "storage.shared_file": "shared file",
}
CASES = (
    *("node.fill ranks=1 array_bytes=64Ki,1Mi,4Mi", "node.stream kernel=triad,copy ranks=1 array_bytes=1Mi"),
    *("network.shared_memory message_bytes=8,1Ki,64Ki", "mpi.matched_receive message_bytes=8,1Ki,64Ki"),
    *("mpi.latency ranks=2 message_bytes=8,1Ki,64Ki", "operation.row_broadcast ranks=2 n=32,64,100"),
    *("algorithm.dot_product ranks=1,2 n=16Ki,64Ki,256Ki", "application.heat ranks=1,2 n=16Ki,64Ki,256Ki"),
    "storage.shared_file ranks=1,2 part_bytes=16Ki,64Ki,1Mi",
)


@pytest.fixture(scope="module", autouse=True)
def outside() -> Iterator[None]:
    """Let everything here be built with these benchmarks, from the objects of the program without them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(native.EXTRA_BENCHMARKS, str(BENCHMARKS))
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A measured run of these benchmarks and of those that they are held against."""
    folder = tmp_path_factory.mktemp("outside")
    cases = [word for case in CASES for word in ("--case", case)]
    answer = answered(folder, "run", *cases, "--launches", "2", *BRIEF)
    assert answer.code == 0, answer
    # What is derived is to follow from the declarations, not from how busy the machine was.
    rewrite_times(folder / "runs" / "latest", time_s)
    assert answered(folder, "analyze", "runs/latest").code == 0
    return folder / "runs" / "latest"


def time_s(record: dict[str, Any]) -> float:
    """Return a time that grows with the size of a case and is shared by the ranks of a program."""
    parameters = record["parameters"]
    size = next(
        parameters[name] for name in ("array_bytes", "message_bytes", "part_bytes", "n") if name in parameters
    )
    shared = record["ranks"] if record["benchmark"].startswith(("algorithm.", "application.")) else 1
    return 1e-6 + 1e-9 * float(size) / shared


@pytest.fixture(scope="module")
def models(run: Path) -> Models:
    return Run(run).models


@pytest.fixture(scope="module")
def build(embedded: MpiInstallation) -> NativeBuild:  # noqa: F811
    return native.build(embedded)


def test_there_is_one_of_each_level_with_two_files() -> None:
    files = [path.relative_to(BENCHMARKS) for path in BENCHMARKS.rglob("*.*")]
    wanted = [f"{name.replace('.', '/')}.{ending}" for name in TITLES for ending in ("cpp", "md")]
    assert sorted(map(str, files)) == sorted(wanted)
    # A benchmark of a device calls a driver, which a folder of sources cannot bring.
    assert [name.partition(".")[0] for name in TITLES] == [level for level in LEVELS if level != "device"]


def test_they_are_unknown_until_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path / "cache"))
    answer = scope(tmp_path, "list", "--json", "--mpi", "embedded")
    assert "mpi.latency" in {one["name"] for one in json.loads(answer.output)}
    assert "unknown until built" in answer.errors
    assert not list(tmp_path.glob("cache/objects/*"))


@pytest.mark.usefixtures("build")
def test_they_are_listed_and_described(tmp_path: Path) -> None:
    listed = json.loads(answered(tmp_path, "list", "--json", "--mpi", "embedded").output)
    assert set(TITLES) <= {one["name"] for one in listed}
    for name in TITLES:
        text = (BENCHMARKS / f"{name.replace('.', '/')}.md").read_text()
        assert benchmarks.explain(name, "embedded").specification == text
    described = json.loads(answered(tmp_path, "describe", name, "--json", "--mpi", "embedded").output)
    assert described["specification_text"] == text


@pytest.mark.parametrize("name", TITLES)
def test_their_verification_notices_wrong_data(build: NativeBuild, name: str, tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_text(name + "\n")
    output = tmp_path / "samples.jsonl"
    ranks = 1 if name.startswith("node.") else 2
    options = ["--action=test", f"--plan={tmp_path / 'plan.txt'}", f"--output={output}"]
    for fault, status in (("", "ok"), (f"wrong-result:{name}", "failed")):
        output.unlink(missing_ok=True)
        start(build.program, build.mpi, ranks, options, SCOPE_FAULT=fault)
        records = [RECORD.validate_json(line) for line in output.read_text().splitlines()]
        assert [one.status for one in records if isinstance(one, CaseRecord)] == [status]


def test_each_stands_on_the_ladder_where_it_declares_a_rung(models: Models) -> None:
    standing = {
        (rung.layer, ladder.quantity)
        for ladder in models.ladders
        for rung in ladder.rungs
        for name, title in TITLES.items()
        if title in rung.name and rung.value and (rung.layer == name.partition(".")[0])
    }
    assert standing == {
        *(("node", "bandwidth_bytes_per_s"), ("storage", "bandwidth_bytes_per_s")),
        *(("network", "bandwidth_bytes_per_s"), ("network", "latency_s")),
        *(("mpi", "bandwidth_bytes_per_s"), ("mpi", "latency_s")),
        ("operation", "bandwidth_bytes_per_s"),
        ("algorithm", "flops_per_s"),
        *(("application", "bandwidth_bytes_per_s"), ("application", "flops_per_s")),
    }


def test_programs_have_speedups_against_their_sequential_case(models: Models) -> None:
    for name in ("algorithm.dot_product", "application.heat"):
        mine = [one for one in models.speedups if one.subject.benchmark == name]
        assert [one.size for one in mine] == [1 << 14, 1 << 16, 1 << 18]
        for one in mine:
            assert [point.ranks for point in one.points] == [1, 2]
            assert all(point.speedup is not None for point in one.points)
            assert TITLES[name] in one.sequential_baseline


def test_declared_costs_are_predicted_and_validated(models: Models) -> None:
    for name in ("algorithm.dot_product", "application.heat"):
        (mine,) = [one for one in models.predictions if one.subject.benchmark == name]
        assert mine.reason == ""
        assert [(point.ranks, point.role) for point in mine.points] == [(1, "input"), (2, "validated")] * 3
        assert mine.median_error is not None
    parts = [one for one in models.operations if one.subject.benchmark == "operation.row_broadcast"]
    assert {one.subject.parameters["n"] for one in parts} == {32, 64, 100}
    assert all(one.messages_s.value > 0 for one in parts)


def test_a_prediction_of_one_is_printed(run: Path, tmp_path: Path) -> None:
    asked = ["--algorithm", "dot_product", "--n", "131072", "--ranks", "1,2,8"]
    answer = answered(tmp_path, "predict", str(run), *asked, "--json")
    assert answer.code == 0, answer
    assert [one["ranks"] for one in json.loads(answer.output)["predicted"]] == [1, 2, 8]


def test_a_program_is_held_against_the_benchmark_of_its_routine(
    run: Path,
    embedded: MpiInstallation,  # noqa: F811
    tmp_path: Path,
) -> None:
    program = tmp_path / "program"
    subprocess.run([embedded.compiler, "-o", program, HERE / "program.cpp"], check=True, timeout=PATIENCE_S)
    launch = [str(embedded.launcher), "--allow-run-as-root", "--map-by", ":oversubscribe", "-n", "2"]
    answer = scope(tmp_path, "monitor", "-o", "profiled", "--against", str(run), "--", *launch, str(program))
    assert answer.code == 0, answer
    compared = read_json(tmp_path / "profiled" / FILE, MachineComparison)
    (received,) = [one for one in compared.routines if one.routine == "MPI_Mrecv"]
    assert received.benchmark == "mpi.matched_receive"
    assert (received.calls, received.message_bytes, received.ranks) == (20, 1000, 2)


def test_each_has_its_section_with_figures_in_the_report(run: Path) -> None:
    page = (run / "report.html").read_text()
    for name, title in TITLES.items():
        section = page[page.index(f'id="{name}"') :].partition("</details>")[0]
        assert f"<h3>{title} <code>" in section
        assert f'id="{name}-' in section
