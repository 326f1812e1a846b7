"""`scope run --resume`: a run that was interrupted, killed, cut or changed."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from hpcscope.launch import processes
from tests.cli.scope_command import (
    BRIEF,
    LATENCY,
    LONG,
    answered,
    cases,
    planned,
    samples,
    start,
    status,
)
from tests.messages import mentions
from tests.patience import PATIENCE_S, until


def leftovers(run: Path) -> list[int]:
    """Return processes of this run that are still there."""
    return [
        process.pid
        for attempt in (run / "launches").iterdir()
        for process in processes.with_argument(f"--progress={attempt.absolute() / 'progress'}")
    ]


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(
            signal.SIGTERM, marks=pytest.mark.slow("the same handler; there, SIGINT, and other commands")
        ),
    ],
)
def test_an_interrupted_run_is_resumed_to_the_same_cases(tmp_path: Path, number: signal.Signals) -> None:
    running = start(tmp_path, "run", *LONG, *BRIEF, "-o", "runs/long")
    run, latest = tmp_path / "runs/long", tmp_path / "runs/latest"
    until(lambda: len([line for line in samples(run) if line["record"] == "case"]) >= 4, "a fourth case")
    running.send_signal(number)
    _, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130, errors
    assert "scope run --resume runs/long" in errors
    assert "Traceback" not in errors
    assert status(run) == "interrupted"
    done = cases(run)
    assert 4 <= len(done) < len(planned(run))
    assert leftovers(run) == []
    assert not latest.is_symlink()

    answer = answered(tmp_path, "run", "--resume", "runs/long")
    assert answer.code == 0, answer.errors
    assert cases(run) == planned(run)
    assert status(run) == "finished"
    assert latest.resolve() == run
    assert set(done) <= set(cases(run))


def test_a_run_whose_supervisor_was_killed_is_resumed_when_its_ranks_are_gone(tmp_path: Path) -> None:
    endless = "sampling.budget_s=100.0 sampling.minimum_repetitions=10000000 sampling.maximum_repetitions=10000000"
    settings = [word.removeprefix("sampling.").replace("=", " = ") for word in endless.split()]
    (tmp_path / "e.toml").write_text("[sampling]\n" + "\n".join(settings) + "\n")
    running = start(tmp_path, "run", "e.toml", *LONG, "--mpi", "embedded", "-o", "run")
    run = tmp_path / "run"
    until(lambda: any(line["record"] == "launch" for line in samples(run)), "a launch")
    running.kill()
    running.communicate(timeout=PATIENCE_S)
    ranks = leftovers(run)
    assert ranks
    assert mentions(answered(tmp_path, "run", "--resume", "run").refusal(), f"{tmp_path / 'run'}: ... using it")
    for pid in ranks:
        with suppress(ProcessLookupError):  # its launcher, killed before, may have ended it
            os.kill(pid, signal.SIGKILL)
    until(lambda: leftovers(run) == [], "the end of the killed ranks")
    plan = (run / "plan.txt").read_text()
    assert endless in plan
    (run / "plan.txt").write_text(plan.replace(endless, "sampling.budget_s=0.05"))
    assert answered(tmp_path, "run", "--resume", "run").code == 0
    assert cases(run) == planned(run)


def test_a_cut_last_line_is_kept_aside_and_its_case_measured_again(tmp_path: Path) -> None:
    assert answered(tmp_path, "run", "--case", LATENCY, "--launches", "1", *BRIEF, "-o", "run").code == 0
    run = tmp_path / "run"
    lines = (run / "samples.jsonl").read_bytes().splitlines(keepends=True)
    half = lines[-2][: len(lines[-2]) // 2]
    (run / "samples.jsonl").write_bytes(b"".join(lines[:-2]) + half)
    answer = answered(tmp_path, "run", "--resume", "run")
    assert answer.code == 0, answer.errors
    assert (run / "samples.cut.jsonl").read_bytes() == half + b"\n"
    assert cases(run) == planned(run)


def test_a_finished_run_is_resumed_to_itself(tmp_path: Path) -> None:
    assert answered(tmp_path, "run", "--case", LATENCY, "--launches", "1", *BRIEF, "-o", "run").code == 0
    before = (tmp_path / "run/samples.jsonl").read_bytes()
    assert answered(tmp_path, "run", "--resume", "run").code == 0
    assert (tmp_path / "run/samples.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("run.json", '"format": 2', '"format": 3', "run.json: ... format = 3: ... 2"),
        ("plan.txt", "format=2", "format=7", "plan.txt:1: ... format = 7: ... 2"),
        ("machine.json", '"fingerprint": "', '"fingerprint": "0', "machine.json: ... build.fingerprint"),
        ("experiment.toml", "launches =", "lunches =", "experiment.toml: lunches ... launches?"),
    ],
)
def test_a_run_of_another_format_or_program_is_not_resumed(
    finished: Path, name: str, old: str, new: str, said: str
) -> None:
    text = (finished / name).read_text()
    assert old in text
    (finished / name).write_text(text.replace(old, new, 1))
    try:
        refusal = answered(finished.parent, "run", "--resume", finished.name).refusal()
    finally:
        (finished / name).write_text(text)
    assert mentions(refusal, said)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    assert answered(folder, "run", "--case", "node.timer", "--launches", "1", *BRIEF, "-o", "run").code == 0
    (folder / "run" / "checksums.sha256").unlink()  # which would tell of every change that a test makes
    return folder / "run"
