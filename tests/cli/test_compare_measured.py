"""`scope compare` that measures: two sides in turn, and a regression once more."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.scope_command import rewrite_times, samples, scope

CASE = 'mpi = "embedded"\n[sampling]\nbudget_s = 0.05\n[[case]]\nbenchmark = "mpi.latency"\nmessage_bytes = {}\n'


@pytest.fixture(scope="module")
def in_turn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two sides, a message a hundred thousand times as long on the second, and what was measured."""
    folder = tmp_path_factory.mktemp("in_turn")
    (folder / "short.toml").write_text(CASE.format(8))
    (folder / "long.toml").write_text(CASE.format(1 << 20))
    words = ["compare", "--measure", "short.toml", "long.toml", "--time", "120", "-o", "out"]
    answer = scope(folder, *words, "--fail-on-regression", "50")
    assert answer.code == 1, answer
    assert "1 worse." in answer.output
    return folder / "out"


def test_what_differs_is_decided_by_rounds(in_turn):
    said = json.loads((in_turn / "comparison.json").read_text())
    (case,) = said["cases"]
    assert case["verdict"] == "worse"
    assert case["ratio_low"] > 1
    assert len(case["rounds"]) == said["rounds"] >= 12
    assert "message_bytes=8 " in case["a"]
    assert "message_bytes=1048576 " in case["b"]


def test_the_sides_take_turns_a_b_b_a(in_turn):
    started = sorted(
        (record["started_unix_s"], side)
        for side in "ab"
        for record in samples(in_turn / side)
        if record["record"] == "case"
    )
    order = "".join(side for _, side in started)
    assert order[:8] == "abbaabba"
    assert all({one, other} == {"a", "b"} for one, other in zip(order[::2], order[1::2], strict=True))
    assert sum(one == other for one, other in pairwise(order)) == len(order) // 2 - 1


def test_both_sides_are_runs_of_their_own(in_turn):
    for side, size in (("a", 8), ("b", 1 << 20)):
        rows = json.loads(scope(in_turn, "show", side, "mpi.latency", "--json").output)
        assert {row["parameters"]["message_bytes"] for row in rows} == {size}


def test_one_round_is_measured_however_short_the_time(tmp_path):
    (tmp_path / "one.toml").write_text(CASE.format(8))
    answer = scope(tmp_path, "compare", "--measure", "one.toml", "one.toml", "--time", "0.001", "-o", "out")
    assert answer.code == 0, answer
    said = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert (said["rounds"], said["out_of_time"]) == (1, True)
    (case,) = said["cases"]
    assert case["verdict"] == "incomparable"
    assert case["reason"] == "has no two rounds with results"


def test_a_regression_that_was_none_is_not_confirmed(in_turn, tmp_path):
    """The times of the second run are ten times as long; measured again, both are alike."""
    for name, time_s in (("before", 1e-6), ("slower", 1e-5)):
        run = Path(shutil.copytree(in_turn / "a", tmp_path / name))
        rewrite_times(run, lambda _, time_s=time_s: time_s)
        assert scope(tmp_path, "analyze", name).code == 0
    words = ["compare", "before", "slower", "--fail-on-regression", "50"]
    assert scope(tmp_path, *words).code == 1
    again = scope(tmp_path, *words, "--confirm", "--time", "8", "-o", "again")
    assert again.code == 0, again
    assert "not confirmed" in again.output
    assert (tmp_path / "again" / "comparison.json").exists()


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["a", "b", "--time", "5"], "--time: must be given with --measure or --confirm"),
        (["a", "b", "--measure", "--confirm"], "--measure: must not be combined"),
        (["a.toml", "b.toml", "--measure"], "a.toml"),
        (["x/scope-measure", "openmpi", "--measure"], "must be a native program in a build cache"),
    ],
)
def test_what_cannot_be_measured_is_refused(words, refusal, tmp_path):
    assert refusal in scope(tmp_path, "compare", *words).refusal()
