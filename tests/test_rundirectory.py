import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hpcscope.cli import dispatch
from hpcscope.engine.run import begun_run
from hpcscope.errors import ScopeError, UsageError
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.models.models import Models
from hpcscope.rundirectory import (
    CHECKSUMS,
    RunDirectory,
    RunFile,
    note_checksums,
    read_json,
    read_toml,
    write_json,
    write_text,
)
from tests import golden_run
from tests.messages import mentions
from tests.patience import PATIENCE_S


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    write_json(run.models, Models(format=2, fits=[], ladders=[]))
    assert read_json(run.models, Models) == Models(format=2, fits=[], ladders=[])
    assert [path.name for path in tmp_path.iterdir()] == ["models.json"], "no temporary file stays"


def test_nested_models_are_written(tmp_path: Path) -> None:
    finding = Finding(
        code="x", severity="advice", title="t", where={}, evidence=[Evidence(what="w", value=1.5)], advice="a"
    )
    write_json(tmp_path / "f.json", {"format": 1, "findings": [finding]})
    assert json.loads((tmp_path / "f.json").read_text())["findings"][0]["evidence"][0]["value"] == 1.5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"format": 3, "fits": [], "ladders": []}', "format = 3: ... 2"),
        ('{"format": 2, "fits": []}', "ladders: "),
        ('{"format": 2, "fits": 3, "ladders": []}', "fits = 3: "),
        ('{"format": 2, "fits": [], "ladders": [], "more": 1}', "more = 1: "),
        ('{"format": 2,', "not JSON"),
        ("\xff", "not JSON"),
        ('{"format": 2, "fits": [], "ladders": [1e999]}', "1e999"),
        ('{"format": 2, "fits": [], "ladders": [NaN]}', "NaN"),
    ],
)
def test_bad_files_are_named_with_key_and_value(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "models.json"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        read_json(path, Models)
    assert str(path) in str(error.value)
    assert mentions(str(error.value), says)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("unix_s", [-1.0, 1e12, 1e300])
@pytest.mark.parametrize("file", ["run.json", "machine.json"])
def test_times_beyond_any_calendar_are_refused(
    file: str, unix_s: float, golden_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Path(shutil.copytree(golden_run, tmp_path / "run"))
    facts = json.loads((run / file).read_text())
    key = "started_unix_s" if file == "run.json" else "build.built_unix_s"
    (facts["build"] if file == "machine.json" else facts)[key.rpartition(".")[2]] = unix_s
    (run / file).write_text(json.dumps(facts))
    assert dispatch("report", [str(run), "-o", str(tmp_path / "page.html")]) == 2
    errors = capsys.readouterr().err
    assert f"{run / file}: {key} = " in errors
    assert errors.count("\n") == 1


def test_names_of_any_bytes_are_written_and_read_back(tmp_path: Path) -> None:
    write_json(tmp_path / "command.json", {"command": ["r\udce9sum"]})
    assert json.loads((tmp_path / "command.json").read_text()) == {"command": ["r\udce9sum"]}


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    with pytest.raises(UsageError, match=r"run\.json"):
        read_json(run.models, Models)
    with pytest.raises(UsageError, match="nosuch: "):
        read_json(RunDirectory(tmp_path / "nosuch").models, Models)
    run.run.touch()
    with pytest.raises(UsageError, match=r"models\.json: "):
        read_json(run.models, Models)


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    write_json(path, {"format": 1})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(path, {"format": float("nan")})
    assert json.loads(path.read_text()) == {"format": 1}


def test_a_folder_that_is_not_there_is_an_error_not_a_trace(tmp_path: Path) -> None:
    with pytest.raises(ScopeError, match=r"absent/models\.json: "):
        write_json(tmp_path / "absent" / "models.json", {"format": 1})


def test_what_is_no_file_is_written_to_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_changed_file_is_refused_by_its_checksum(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    write_json(run.models, {"format": 2, "fits": [], "ladders": []})
    run.experiment.write_text("seed = 1\n")
    note_checksums(tmp_path, [run.models])
    note_checksums(tmp_path, [run.experiment])
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", CHECKSUMS], cwd=tmp_path, check=True)
    assert read_json(run.models, Models).fits == []
    run.models.write_text(run.models.read_text().replace("2", "1"))
    with pytest.raises(UsageError, match=r"models\.json: .*scope analyze "):
        read_json(run.models, Models)
    run.experiment.write_text("seed = 3\n")
    with pytest.raises(UsageError, match=r"experiment\.toml: .*checksums\.sha256"):
        read_toml(run.experiment)
    (run.path / CHECKSUMS).unlink()
    assert read_toml(run.experiment) == {"seed": 3}, "runs of before there were checksums"


def test_a_file_that_changes_has_a_checksum_of_its_last_state(tmp_path: Path) -> None:
    directory = RunDirectory(golden_run.write(tmp_path / "run"))
    for status in ("running", "finished"):
        begun_run.note_status(directory, status)
        assert read_json(directory.run, RunFile).status == status
    directory.run.write_text(directory.run.read_text().replace("finished", "failed  ", 1))
    with pytest.raises(UsageError, match=r"run\.json: .*checksums\.sha256"):
        read_json(directory.run, RunFile)


def test_bytes_that_are_no_text_are_kept(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"command": ["\udce9"]})
    assert json.loads((tmp_path / "run.json").read_text()) == {"command": ["\udce9"]}


INTERRUPTED_WHILE_A_FILE_IS_MADE = """
import signal
import sys
import tempfile
from pathlib import Path
from hpcscope.rundirectory import write_text

make = tempfile.mkstemp


def interrupted(*words, **options):
    made = make(*words, **options)
    signal.raise_signal(signal.SIGINT)  # before anybody has its name
    return made


tempfile.mkstemp = interrupted
write_text(Path(sys.argv[1]) / "findings.json", "new")
"""


def test_an_interrupt_while_a_file_is_made_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "findings.json").write_text("old")
    words = [sys.executable, "-c", INTERRUPTED_WHILE_A_FILE_IS_MADE, str(tmp_path)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert "KeyboardInterrupt" in ended.stderr
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"findings.json": "old"}
