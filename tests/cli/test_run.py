"""`scope run`, for real: what it leaves behind, how it refuses, how it survives interruption and a full disk."""

from __future__ import annotations

import json
import os
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from hpcscope.engine.progress import Silent
from hpcscope.engine.run import run as runs
from hpcscope.errors import OutOfTimeError
from hpcscope.machine.discover import this_host
from hpcscope.plan.experiment import resolve
from hpcscope.plan.plan import Launch, PlannedCase
from tests.cli.scope_command import (
    BRIEF,
    LATENCY,
    answered,
    cases,
    planned,
    rewrite_times,
    samples,
    scope,
    status,
)
from tests.messages import mentions


def test_a_run_leaves_everything_behind(tmp_path: Path) -> None:
    answer = scope(tmp_path, "run", "--case", LATENCY, "--case", "node.timer", "--launches", "2", *BRIEF)
    assert answer.code == 0, answer.errors
    run = tmp_path / "runs" / "latest"
    assert run.is_symlink()
    assert not run.readlink().is_absolute()
    for name in (
        "experiment.toml",
        "machine.json",
        "benchmarks.json",
        "statistics.json",
        "models.json",
        "findings.json",
    ):
        assert (run / name).stat().st_size > 0
    assert cases(run) == planned(run)
    assert len(cases(run)) == 2 * (2 + 1)
    assert status(run) == "finished"
    record = json.loads((run / "run.json").read_text())
    assert record["command"][1:3] == ["run", "--case"]
    assert record["finished_unix_s"] > record["started_unix_s"]
    machine = json.loads((run / "machine.json").read_text())
    assert machine["hosts"][0]["name"] == os.uname().nodename
    assert machine["build"]["mpi"]["name"] == "openmpi"
    assert "report.html" in answer.output
    attempt = run / "launches" / "0001-1"
    assert {path.name for path in attempt.iterdir()} == {"plan.txt", "progress", "stdout.txt", "stderr.txt"}


def test_the_resolved_experiment_repeats_the_run(tmp_path: Path) -> None:
    assert answered(tmp_path, "run", "--case", LATENCY, "--launches", "2", *BRIEF, "-o", "first").code == 0
    assert answered(tmp_path, "run", "first/experiment.toml", "-o", "second").code == 0
    assert (tmp_path / "first/plan.txt").read_text() == (tmp_path / "second/plan.txt").read_text()


def test_wrong_data_is_exit_code_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOPE_FAULT", "corrupt-payload:mpi.latency")
    answer = answered(tmp_path, "run", "--case", LATENCY, "--launches", "1", *BRIEF)
    assert answer.code == 1
    found = {
        line["parameters"]["message_bytes"]: line for line in samples(tmp_path / "runs/latest") if "status" in line
    }
    assert {size: line["status"] for size, line in found.items()} == {0: "ok", 1024: "failed"}
    assert found[1024]["reason"].startswith("rank 1 on ")
    (said,) = [line for line in answer.errors.splitlines() if "failed" in line]
    assert "1 KiB" in said
    assert (tmp_path / "runs/latest/report.html").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mpi.latncy"], "only = mpi.latncy: ... mpi.latency?"),
        (["--case", "mpi.latncy"], "benchmark = mpi.latncy: ... mpi.latency?"),
        (["--case", "mpi.latency message_bytes=-1"], "message_bytes = -1: ... 0 ... 68719476736"),
        (["--case", "mpi.latency message_bytes=1000Gi"], "message_bytes = 1000Gi: ... 0 ... 68719476736"),
        (["--case", "mpi.latency mesage_bytes=1"], "mesage_bytes = 1: ... message_bytes?"),
        (["--case", "mpi.barrier ranks=4096"], "ranks = 4096: ... --oversubscribe"),
        (["--case", "mpi.latency message_bytes"], "'message_bytes' ... key=value"),
        (["--module", "base"], "--module ... baseline, standard, advanced ... baseline?"),
        (["--launches", "0"], "--launches 0: ... 1 ... 1000"),
        (["--limit", "-1"], "--limit -1: ... 0s"),
        (["--mpi", "lam"], "--mpi lam: ... openmpi"),
        (["--mpiexec", "/nowhere/mpiexec"], "launcher.mpiexec = /nowhere/mpiexec: "),
        (["--remote-shell", "/nowhere/ssh"], "launcher.remote_shell = /nowhere/ssh: "),
        (["--hosts", "a:0"], "--hosts a:0: ... name:slots"),
        (["--hosts", "a;b", "--mpi", "lam"], "--hosts a;b: "),
        (["--hosts", "nosuch-host.invalid"], "launcher.hosts = nosuch-host.invalid: "),
        (["--hostfile", "gone"], "gone: "),
        (["gone.toml"], "gone.toml: "),
        (["--resume", "gone"], "gone: "),
        (["--resume", "gone", "--launches", "3"], "--resume gone: ... launches"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path: Path, words: list[str], said: str) -> None:
    mpi = [] if "--mpi" in words or "--resume" in words else ["--mpi", "embedded"]
    refusal = answered(tmp_path, "run", *words, *mpi).refusal()
    assert mentions(refusal, f"scope run: ... {said}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lunches = 3", "e.toml: lunches = 3: ... launches?"),
        ("[[case]]\nbenchmark = 'mpi.latency'\nmessage_bytes = [-5]", "e.toml: case[0] ... message_bytes = -5: "),
        ("[[case]]\nbenchmark = 'mpi.barrier'\nranks = [4096]", "e.toml: case[0] ... ranks = 4096: "),
        ("launches = ", "e.toml: not TOML"),
    ],
)
def test_a_bad_experiment_is_one_line_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "e.toml").write_text(text)
    assert mentions(answered(tmp_path, "run", "e.toml", "--mpi", "embedded").refusal(), said)
    assert [path.name for path in tmp_path.iterdir()] == ["e.toml"]


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious").write_text("mine")
    refusal = answered(tmp_path, "run", "mpi.barrier", *BRIEF, "-o", "run").refusal()
    assert "--output run: " in refusal
    assert (tmp_path / "run" / "precious").read_text() == "mine"


def test_more_ranks_than_cores_run_when_asked_so(tmp_path: Path) -> None:
    ranks = 2 * this_host().processor.usable_cores
    case = f"mpi.barrier ranks={ranks}"
    answer = answered(tmp_path, "run", "--case", case, "--launches", "1", "--oversubscribe", *BRIEF, "-o", "run")
    assert answer.code == 0, answer.errors
    opening = next(line for line in samples(tmp_path / "run") if line["record"] == "launch")
    assert (opening["ranks"], opening["placement"]) == (ranks, "none")


def test_a_second_look_measures_inside_and_beside_the_gap_of_a_break(tmp_path: Path) -> None:
    sizes = [1, 16, 128, 512, 1024, 16384, 65536, 262144, 1048576]
    swept = f"mpi.latency message_bytes={','.join(map(str, sizes))}"
    answer = answered(tmp_path, "run", "--case", swept, "--launches", "2", "--output", "run", *BRIEF)
    assert answer.code == 0, answer.errors
    run = tmp_path / "run"
    rewrite_times(run, _with_a_break_after_1024_bytes)
    (run / "checksums.sha256").unlink()
    experiment = run / "experiment.toml"
    experiment.write_text(experiment.read_text().replace("refine = false", "refine = true"))
    answer = answered(tmp_path, "run", "--resume", "run")
    assert answer.code == 0, answer.errors
    assert cases(run) == planned(run)
    measured = {record["parameters"]["message_bytes"] for record in samples(run) if record["record"] == "case"}
    assert measured >= {*sizes, 256, 2048, 4096, 8192, 32768}


def _with_a_break_after_1024_bytes(record: dict[str, Any]) -> float:
    size = record["parameters"]["message_bytes"]
    return 1e-6 + 1e-9 * size if size <= 1024 else 1e-5 + 2e-9 * size


def test_a_run_whose_time_is_short_explains_what_it_has_and_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The minute is over when the first of two cases has ended."""
    clock, passed_s = time.time, [0.0]

    class Ends(Silent):
        def case_ended(self, launch: Launch, case: PlannedCase, status: str) -> None:
            passed_s[0] = 60.0

    monkeypatch.setattr(time, "time", lambda: clock() + passed_s[0])
    cases = ["mpi.latency ranks=2 message_bytes=8", "mpi.barrier ranks=4"]
    asked = resolve(None, {"mpi": "embedded", "case": cases, "launches": 1, "launcher.oversubscribe": True})
    folder = tmp_path / "run"
    ended = runs.run(asked, output=folder, within_s=60.0, progress=lambda *_: nullcontext(Ends()))
    assert ended.well
    assert "1 of 2 planned cases have no samples" in ended.directory.findings.read_text()
    assert ended.directory.report.is_file()
    assert runs.resume(folder).well
    assert "have no samples" not in ended.directory.findings.read_text()


def test_a_run_whose_time_is_over_before_any_case_can_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(OutOfTimeError, match=r"measured for 0 s") as ended:
        runs.run(
            resolve(None, {"mpi": "embedded", "case": ["mpi.barrier"]}), output=tmp_path / "run", within_s=0.0
        )
    assert ended.value.resumable == (tmp_path / "run").resolve()
