"""`scope runs`: the runs of a folder are listed and removed; nothing else is."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shutil
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hpcscope.cli import answer
from hpcscope.engine import analysis
from tests.cli.scope_command import SCOPE
from tests.messages import mentions
from tests.patience import PATIENCE_S
from tests.repository.test_repository import variant


@pytest.fixture
def runs(golden_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three runs, of which the second is the oldest, and with other things."""
    folder = tmp_path / "runs"
    for name, days in (("a", 1), ("b", 30), ("c", 0)):
        shutil.copytree(golden_run, folder / name)
        head = json.loads((folder / name / "run.json").read_text())
        head |= {"started_unix_s": time.time() - days * 86400 - 60, "name": f"run {name}"}
        (folder / name / "run.json").write_text(json.dumps(head))
    (folder / "latest").symlink_to("c")
    (folder / "notes").mkdir()
    (folder / "notes" / "mine.txt").write_text("keep")
    monkeypatch.chdir(tmp_path)
    return folder


def listed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert answer(["runs", "list", "--json"]) == 0
    return [Path(each["path"]).name for each in json.loads(capsys.readouterr().out)]


def test_runs_are_listed_newest_first(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys) == ["c", "a", "b"]
    assert answer(["runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["runs/c", "runs/a", "runs/b"]
    assert "run a" in lines[2]
    assert "finished" in lines[2]
    (runs / "sent.zip").write_bytes(b"")
    assert answer(["runs"]) == 0
    assert mentions(capsys.readouterr().out.splitlines()[-1], "runs/sent.zip ... scope show FILE")


def test_a_narrow_terminal_cuts_no_path(runs: Path) -> None:
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, 40))
    with os.fdopen(leader, "rb", buffering=0) as terminal:
        subprocess.run([SCOPE, "runs", "list", "--in", runs], stdout=follower, check=True, timeout=PATIENCE_S)
        os.close(follower)
        printed = b""
        with suppress(OSError):  # how a terminal ends whose other side is closed
            while more := terminal.read(4096):
                printed += more
    for name in ("a", "b", "c"):
        assert f"  {runs / name}".encode() in printed


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        (["--keep", "1"], ["c"]),
        (["--older", "10"], ["c", "a"]),
        (["--keep", "0", "--older", "0.5"], ["c"]),
        (["--keep", "2", "--older", "60"], ["c", "a", "b"]),
    ],
)
def test_old_runs_are_pruned(
    limits: list[str], left: list[str], runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(["runs", "prune", *limits, "--yes"]) == 0
    assert listed(capsys) == left
    assert (runs / "notes" / "mine.txt").exists()
    assert (runs / "latest" / "run.json").exists()


def test_the_latest_run_goes_with_its_link(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["runs", "remove", "latest", "-y"]) == 0
    assert listed(capsys) == ["a", "b"]
    assert not (runs / "latest").is_symlink()


def test_links_inside_are_not_followed(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "data").write_text("keep")
    (runs / "a" / "outside").symlink_to(tmp_path / "precious")
    assert answer(["runs", "remove", "a", "-y"]) == 0
    assert (tmp_path / "precious" / "data").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["remove", "notes", "-y"], "notes"),
        (["remove", "nosuch", "-y"], "nosuch"),
        (["remove", "..", "-y"], ".."),
        (["remove", "foreign", "-y"], "foreign"),
        (["remove", "a", "nosuch", "-y"], "nosuch"),
        (["prune", "-y"], "--keep or --older: "),
        (["list", "--in", "nosuch"], "nosuch"),
        (["open", "nosuch"], "nosuch"),
    ],
)
def test_what_is_no_run_stays(words: list[str], says: str, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "foreign").mkdir()
    (runs / "foreign" / "run.json").write_text('{"of": "another program"}')
    before = sorted(runs.rglob("*"))
    assert answer(["runs", *words]) == 2
    assert says in capsys.readouterr().err
    assert sorted(runs.rglob("*")) == before


def test_a_new_folder_is_held_until_its_process_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "runs/new"
    script = f"""
import shutil, sys
from pathlib import Path
from hpcscope.engine.directories import new_directory
new_directory("new", Path({str(folder)!r}))
Path({str(folder / "run.json")!r}).write_text('{{"format": 1, "status": "finished"}}')
print(flush=True)
sys.stdin.read()
"""
    words = ["runs", "prune", "--keep", "0", "--yes", "--in", str(folder.parent)]
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert answer(words) == 2
        process.communicate(timeout=PATIENCE_S)
    assert mentions(capsys.readouterr().err, "runs/new: ... using it")
    assert folder.exists()
    assert answer(words) == 0
    assert not folder.exists()


def test_a_run_is_held_while_its_report_is_written(
    golden_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = variant(golden_run, tmp_path, "kept")
    ended: list[subprocess.CompletedProcess[str]] = []

    def pruned(_found: object) -> None:
        words = [SCOPE, "runs", "remove", "kept", "--yes", "--in", str(tmp_path)]
        ended.append(subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False))

    monkeypatch.setattr("hpcscope.report.run.page.write", pruned)
    analysis.explain(run)
    assert (ended[0].returncode, mentions(ended[0].stderr, "kept: ... using it")) == (2, True)
    pruned(run)
    assert (ended[1].returncode, run.exists()) == (0, False)


@pytest.mark.parametrize(
    "command",
    [
        *("show", "show --json", "analyze", "report", "compare {run}", "pack", "anonymize"),
        *("export --to csv", "predict linpack 500", "repository add"),
    ],
)
def test_no_command_waits_for_a_pipe_among_the_files_of_a_run(
    command: str, golden_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCOPE_REPOSITORY", str(tmp_path / "repository"))
    first, *others = command.format(run=golden_run).split()
    for name in ("run.json", "samples.jsonl", "machine.json", "statistics.json", "checksums.sha256", "plan.txt"):
        run = variant(golden_run, tmp_path, f"with-{name}")
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)
        words = [first, *others, str(run)] if first == "repository" else [first, str(run), *others]
        assert answer(words) in (0, 1, 2)
        assert answer(["runs", "list"]) in (0, 2)


def test_a_run_that_goes_on_is_not_removed(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = os.open(runs / "a" / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        assert answer(["runs", "remove", "a", "-y"]) == 2
    finally:
        os.close(held)
    assert mentions(capsys.readouterr().err, "runs/a: ... using it")
    assert (runs / "a" / "samples.jsonl").exists()
