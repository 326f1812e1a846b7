"""`scope campaign`, `placement` and `soak` as a person uses them, on programs that need no MPI of their own."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hpcscope.cli import dispatch
from hpcscope.programs.campaign.record import read
from tests.cli.scope_command import Answer, answered, scope, start
from tests.held import Held
from tests.messages import mentions
from tests.patience import PATIENCE_S

SCHEMAS = Path(__file__).parents[2] / "schemas"
COUNTS = re.compile(r"\b12 runs\b.*\b6 points\b.*\b4\b")
"""Runs, points, and runs that failed."""
STUDY = """
name = "waiting"
command = "sh -c 'sleep 0.0{tenths}; echo {tenths} done; test {ranks} != 3'"
ranks = [1, 2, 3]
repetitions = 2
monitored = false
check = "grep -q done"
seed = 4
[parameters]
tenths = [1, 2]
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    """A campaign of twelve runs of which four fail."""
    folder = tmp_path_factory.mktemp("campaign")
    (folder / "study.toml").write_text(STUDY)
    return folder, answered(folder, "campaign", "study.toml", "-o", "out", "--json")


def test_every_run_has_its_record_and_failures_are_told_not_fatal(done: tuple[Path, Answer]) -> None:
    folder, answer = done
    assert answer.code == 1, answer.errors
    records = read(folder / "out" / "runs.jsonl")
    assert [record.number for record in records] == list(range(1, 13))
    assert {(record.ranks == 3, record.status) for record in records} == {(True, "failed"), (False, "ok")}
    assert answer.errors.count("exit code 1") == 4
    whole = json.loads(answer.output)
    assert whole["head"]["status"] == "finished"
    assert (whole["analysis"]["runs"], whole["analysis"]["well"]) == (12, 8)
    assert [finding["code"] for finding in whole["findings"]] == ["runs-failed"]
    medians: dict[tuple[Any, Any], float] = {
        (one["point"]["parameters"]["tenths"], one["point"]["ranks"]): one["features"]["elapsed_s"]["median"]
        for one in whole["analysis"]["configurations"]
        if one["features"]
    }
    assert medians[2, 1] > 0.02
    assert medians[1, 1] > 0.01
    assert (folder / "out" / "runs" / "00001" / "stdout.txt").read_text().endswith("done\n")


def test_the_page_and_the_tables_say_the_same(done: tuple[Path, Answer]) -> None:
    folder, _ = done
    again = answered(folder, "campaign", "--resume", "out")
    assert again.code == 1
    page = (folder / "out" / "report.html").read_text()
    for shown in (page, again.output):
        assert COUNTS.search(shown)
        assert "exit code 1" in shown
    assert re.findall(r"https?://[\w./]*", page) == ["http://www.w3.org/2000/svg"], "the name of SVG"
    assert "\x1b" not in again.output
    assert len(read(folder / "out" / "runs.jsonl")) == 12, "nothing was run again"


@pytest.mark.parametrize("name", ["campaign", "campaign-run", "analysis"])
def test_the_files_are_as_their_schemas_say(done: tuple[Path, Answer], name: str) -> None:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    file = done[0] / "out" / ("runs.jsonl" if name == "campaign-run" else f"{name}.json")
    text = file.read_text()
    document = json.loads(text.splitlines()[0] if name == "campaign-run" else text)
    Draft202012Validator(schema).validate(document)
    assert not Draft202012Validator(schema).is_valid(document | {"surprise": 1})


def test_show_analyze_and_report_take_a_campaign(
    done: tuple[Path, Answer], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = str(done[0] / "out")
    for words in (["show", out], ["analyze", out]):
        assert dispatch(words[0], words[1:]) == 0
        assert COUNTS.search(capsys.readouterr().out)
    assert dispatch("show", [out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["analysis"]["runs"] == 12
    assert dispatch("report", [out, "-o", str(tmp_path / "page.html")]) == 0
    assert COUNTS.search((tmp_path / "page.html").read_text())


def test_a_campaign_that_was_cut_goes_on_where_it_was(tmp_path: Path) -> None:
    held = Held(tmp_path)
    third = f"test ! -d out/runs/00003 || {{ {held.words}; }}; echo"
    (tmp_path / "study.toml").write_text(STUDY.replace("echo", third))
    running = start(tmp_path, "campaign", "study.toml", "-o", "out")
    held.reached(running)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=PATIENCE_S)
    held.open()
    assert running.returncode == 130, errors
    assert "scope campaign --resume out" in errors
    records = tmp_path / "out" / "runs.jsonl"
    before = read(records)
    assert [record.number for record in before] == [1, 2]
    assert json.loads((tmp_path / "out" / "campaign.json").read_text())["status"] == "interrupted"
    assert (tmp_path / "out" / "report.html").exists()
    # A crash may also cut the record that is being written, and leave the folder of its run.
    records.write_text(records.read_text() + '{"number": ')
    assert answered(tmp_path, "campaign", "--resume", "out").code == 1
    after = read(records)
    assert after[: len(before)] == before
    assert [record.number for record in after] == list(range(1, 13))


def test_a_program_without_mpi_is_told(tmp_path: Path) -> None:
    words = ["soak", "--runs", "1", "--mpi", "embedded", "-o", "out", "--json"]
    ended = answered(tmp_path, *words, "--", "true")
    assert ended.code == 0, ended.errors
    (finding,) = json.loads(ended.output)["findings"]
    assert finding["code"] == "no-profile"
    assert finding["evidence"][0]["value"], "why"


def test_the_runs_of_a_study_are_listed(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    listed = answered(tmp_path, "campaign", "study.toml", "--dry-run", "--repetitions", "3")
    assert listed.code == 0
    assert len(listed.output.splitlines()) == 1 + 18
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_a_soak_counts_what_goes_wrong_and_keeps_only_that(tmp_path: Path) -> None:
    # Every second run prints rubbish.
    program = tmp_path / "app"
    program.write_text("#!/bin/sh\necho . >> count\ntest $(($(wc -l < count) % 2)) = 0 || echo right\n")
    program.chmod(0o755)
    words = ["soak", "--runs", "5", "--check", "grep -q right", "--unmonitored", "--mpi", "embedded", "-o", "out"]
    ended = answered(tmp_path, *words, "--json", "--", "./app")
    assert ended.code == 1, ended.errors
    endurance = json.loads(ended.output)["analysis"]["endurance"]
    assert (endurance["runs"], endurance["well"], endurance["wrong"]) == (5, 3, 2)
    assert sorted(path.name for path in (tmp_path / "out" / "runs").iterdir()) == [
        "00001",
        "00002",
        "00004",
        "00005",
    ]


def test_a_soak_ends_with_its_time(tmp_path: Path) -> None:
    words = ["soak", "--time", "0.5s", "--unmonitored", "--mpi", "embedded", "-o", "timed"]
    timed = scope(tmp_path, *words, "--", "sleep", "0.2")
    assert timed.code == 0, timed.errors
    assert 1 <= len(read(tmp_path / "timed" / "runs.jsonl")) <= 3


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["campaign"], "study"),
        (["campaign", "none.toml"], "none.toml: "),
        (["campaign", "--resume", "."], "campaign"),
        (["soak", "--time", "1h"], "program"),
        (["soak", "--time", "soon", "--", "true"], "--time soon: "),
        (["soak", "--", "true"], "--time or --runs"),
        (["soak", "--runs", "1", "--unmonitored", "--", "no-such-program"], "no-such-program: "),
        (["soak", "--runs", "1", "--ranks", "2", "--", "mpiexec", "./app"], "--ranks"),
        (["placement"], "program"),
        (["placement", "--", "mpiexec", "-n", "2", "./app"], "mpiexec"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(
    words: list[str],
    refusal: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dispatch(words[0], words[1:]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert mentions(said.err, refusal)
