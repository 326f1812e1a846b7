"""`scope reproduce`: the rows that it prints, what it refuses, and a published experiment run here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpcscope.cli import dispatch
from hpcscope.engine.reproduce.reproduce import fitting
from hpcscope.models.published.reference import load, names
from tests.cli.scope_command import answered, rewrite_times

KEYS = {"row", "published", "predicted", "measured", "unit", "limit", "origin"}


def test_rows_of_a_run_that_is_there(golden_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch("reproduce", ["param-node", "--run", str(golden_run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(bool(row["relation"]) for row in found) == len(found) == len(load("param-node").statement)
    assert all(row.keys() >= KEYS for row in found)
    assert {row["origin"] for row in found} == {"published"}, "the golden run has other benchmarks"
    assert dispatch("reproduce", ["param-node", "--run", str(golden_run)]) == 0
    assert "section on one node" in capsys.readouterr().out


def test_an_unknown_name_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch("reproduce", ["scope-appendix-h"]) == 2
    assert f"known: {', '.join(names())}" in capsys.readouterr().err
    assert {"gamma-table1", "netfinity-lu", "param-linpack", "scope-psrs"} <= set(names())


def test_all_experiments_are_listed_with_their_titles(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert dispatch("reproduce", ["--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == names()
    assert all(one["title"] and one["source"] for one in listed)
    assert dispatch("reproduce", ["--list"]) == 0
    said = capsys.readouterr().out
    assert all(one["name"] in said and one["title"] in said for one in listed)
    assert dispatch("reproduce", []) == 2
    assert "--list shows them" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["reproduce", "--list"], ["repository", "published"]])
def test_narrow_lists_lose_nothing(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert dispatch(words[0], words[1:]) == 0
    wide = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "80")
    assert dispatch(words[0], words[1:]) == 0
    narrow = capsys.readouterr().out
    assert max(map(len, narrow.splitlines())) <= 80
    assert "…" not in narrow
    assert sorted("".join(narrow.split())) == sorted("".join(wide.split()))
    assert {line.split()[0] for line in wide.splitlines()} <= {line.split()[0] for line in narrow.splitlines()}


def test_a_fixed_number_of_ranks_without_room_is_left_out() -> None:
    scale = load("scope-strassen").place[0].scale(full=False)
    assert len(fitting(scale, 2)) == 2
    assert len(fitting(scale, 7)) == 3
    assert len(fitting(scale, None)) == 3


def test_an_experiment_is_run_and_its_figures_are_printed(tmp_path: Path) -> None:
    words = ["--launches", "1", "--budget", "0.02", "--mpi", "embedded", "--output", "here", "--json"]
    ended = answered(tmp_path, "reproduce", "param-node", *words)
    assert ended.code == 0, ended.errors
    assert json.loads(ended.output)
    # On a crowded machine every repetition on two processes may have begun late: here all are in time.
    rewrite_times(tmp_path / "here", lambda record: 1e-3 / record["ranks"])
    assert answered(tmp_path, "analyze", "here").code == 0
    told = answered(tmp_path, "reproduce", "param-node", "--run", "here", "--json")
    assert told.code == 0, told.errors
    found = json.loads(told.output)
    assert {row["origin"] for row in found} == {"measured"}
    assert all(row["measured"] > 0 for row in found)
    assert (tmp_path / "here" / "samples.jsonl").exists()
