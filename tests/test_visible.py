"""No text of a run's files is obeyed by a terminal, a spreadsheet or a browser, whichever command shows it."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hpcscope.visible import HIDDEN, cell, visible
from tests.cli.scope_command import scope

ATTACK = "=HYPERLINK(0)\x1b[2J\r\x9b31m\u202etxt\u200b"


@pytest.fixture(scope="module")
def hostile(golden_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which every text that may be anything is an attack."""
    run = tmp_path_factory.mktemp("hostile") / "run"
    shutil.copytree(golden_run, run)
    (run / "checksums.sha256").unlink(missing_ok=True)
    _attack(run / "run.json", "name", "command")
    _attack(run / "machine.json", "model", "operating_system", "kernel", "compiler", "flags")
    _attack(run / "findings.json", "title", "advice", "cause", "evidence", "where")
    _attack(run / "statistics.json", "label", "reason")
    return run


def _attack(file: Path, *keys: str) -> None:
    file.write_text(json.dumps(_attacked(json.loads(file.read_text()), keys)))


def _attacked(value: Any, keys: tuple[str, ...], key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _attacked(each, keys, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_attacked(each, keys, key) for each in value]
    return ATTACK + value if isinstance(value, str) and key in keys else value


@pytest.mark.parametrize(
    "command",
    [
        *("show {}", "show {} --json", "report {}", "compare {} {}", "pack {}", "runs list --in {}/.."),
        *("repository add {}", "anonymize {} copy --yes", "export data-sheet {}"),
        *(f"export {name} {{}}" for name in ("csv", "markdown", "latex", "openmetrics", "jsonl", "junit")),
    ],
)
def test_no_command_prints_what_a_terminal_obeys(
    command: str, hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCOPE_REPOSITORY", str(tmp_path / "repository"))
    told = scope(tmp_path, *command.format(hostile, hostile).split())
    assert told.code in (0, 1), told
    assert not HIDDEN.search(told.output)
    assert not HIDDEN.search(told.errors)
    for page in tmp_path.rglob("*.html"):
        assert not HIDDEN.search(page.read_text())


def test_json_keeps_every_character(hostile: Path, tmp_path: Path) -> None:
    first = scope(tmp_path, "export", "jsonl", str(hostile)).output.splitlines()[0]
    assert json.loads(first)["run"].startswith(ATTACK)


def test_no_cell_of_a_table_is_calculated(hostile: Path, tmp_path: Path) -> None:
    told = scope(tmp_path, "export", "csv", str(hostile))
    cells = [cell for row in csv.reader(io.StringIO(told.output)) for cell in row]
    assert any(each.startswith("'=HYPERLINK") for each in cells)
    assert not any(each.startswith("=") for each in cells)


@pytest.mark.parametrize("value", [-1, 1.5, None, "mpi.latency", "2 processes", "µs", "–"])
def test_harmless_cells_stay(value: object) -> None:
    assert cell(value) == value


@pytest.mark.parametrize("text", ["tab\t, line\nend", "rows\r\nof a table", "narrow\u202fspace", "日本"])
def test_harmless_texts_stay(text: str) -> None:
    assert visible(text) == text
