"""What Scope exports and reads again is what it was, as far as the format holds it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hpcscope.engine.export import exported
from hpcscope.engine.imports import imported
from hpcscope.exchange.exports.csv import FIGURES
from hpcscope.exchange.imports.exported import KEPT
from hpcscope.statistics.summarise import read_summaries
from hpcscope.statistics.summary import Summary, headlines
from tests.imports.reading import data, read

HELD = {"jsonl": set(KEPT), "csv": {*FIGURES, "n"} & set(KEPT) - {"launches"}}
"""Keys of a summary that a format holds."""
OF_THE_CASE = ("unit", "better", "definition", "ranks", "transport", "placement")


def _again(name: str, run: Path, folder: Path) -> list[Summary]:
    file = folder / "exported.txt"
    file.write_text(exported(name, [run]), encoding="utf-8", newline="")
    return headlines(read_summaries(imported(None, [file], None, folder / "again")))


def _figures(summaries: list[Summary], names: set[str], parameters: dict[str, set[str]]) -> dict[str, Any]:
    """Return what is held of each metric of each case; this version may have parameters that the run has not."""
    found: dict[str, Any] = {}
    for one in summaries:
        dumped = one.model_dump(mode="json")
        given = {name: value for name, value in one.parameters.items() if name in parameters[one.benchmark]}
        case = json.dumps(
            [one.benchmark, one.metric, given, *(dumped[name] for name in OF_THE_CASE)], sort_keys=True
        )
        assert case not in found
        found[case] = {name: dumped[name] for name in names}
    return found


@pytest.mark.parametrize("name", list(HELD))
def test_nothing_is_lost_that_the_format_holds(name: str, golden_run: Path, tmp_path: Path) -> None:
    before = headlines(read_summaries(golden_run))
    after = _again(name, golden_run, tmp_path)
    assert len(before) > 20
    parameters = {one.benchmark: set(one.parameters) for one in before}
    assert _figures(after, HELD[name], parameters) == _figures(before, HELD[name], parameters)
    assert {one.printed for one in after} == {""}


@pytest.mark.parametrize(("printed", "origin"), [("measured", "imported"), ("emulated", "emulated")])
def test_figures_of_a_lab_remain_such(printed: str, origin: str, golden_run: Path) -> None:
    """Figures of different origins are never compared with each other."""
    for name in HELD:
        text = exported(name, [golden_run]).replace("measured", printed).replace("emulated", printed)
        assert {one.origin for one in read(name, text).reading.figures} == {origin}


@pytest.mark.parametrize("name", list(HELD))
def test_benchmarks_of_other_versions_are_declared(name: str, golden_run: Path, tmp_path: Path) -> None:
    text = exported(name, [golden_run]).replace("mpi.broadcast", "mpi.broadcast_of_tomorrow")
    found = read(name, text)
    assert not found.unread
    assert "mpi.broadcast_of_tomorrow" in {one.name for one in found.reading.benchmarks}


def test_imported_runs_are_exported_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "output.txt"
    file.write_text(data("mdtest-4.1-tree.txt"))
    first = imported(None, [file], None, tmp_path / "first")
    again = _again("jsonl", first, tmp_path)
    assert {one.metric: one.median for one in again} == {
        one.metric: one.median for one in headlines(read_summaries(first))
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [('"median": ', '"median": "x'), ('"ranks": ', '"ranks": -'), ('"better": "', '"better": "not '), ("}\n", "")],
    ids=["a text for a number", "no such number", "no such direction", "cut"],
)
def test_a_line_that_is_wrong_is_not_understood(old: str, new: str, golden_run: Path) -> None:
    lines = exported("jsonl", [golden_run]).splitlines(keepends=True)[:3]
    assert old in lines[1]
    wrong = lines[1].replace(old, new, 1)
    found = read("jsonl", lines[0] + wrong.rstrip("\n") + "\n" + lines[2])
    assert len(found.reading.figures) == 2
    assert found.unread == [wrong.rstrip("\n")]
