"""`scope compare` that measures: two sides in turn, and a regression once more.

Each side is measured once; every further round has the same samples again, and all have times that a test decides.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from hpcscope.comparison.paired import fewest_rounds
from hpcscope.engine.compare import compare
from hpcscope.engine.run.measurement import Setup
from hpcscope.plan.plan import Plan
from hpcscope.rundirectory import RunDirectory
from tests.cli.scope_command import answered, rewrite_times, samples
from tests.messages import mentions

CASE = 'mpi = "embedded"\n[sampling]\nbudget_s = 0.05\n[[case]]\nbenchmark = "mpi.latency"\nmessage_bytes = {}\n'


def measured_once(patch: pytest.MonkeyPatch, time_s: Callable[[dict[str, Any]], float]) -> None:
    """Let a side be measured in its first round only; the times of all rounds are those of `time_s`."""
    real, kept, now_s = compare.measure, dict[str, list[dict[str, Any]]](), count(1e9)

    def measure(directory: RunDirectory, plan: Plan, setup: Setup) -> None:
        side = directory.path.name
        if side not in kept:
            real(directory, plan, setup)
            rewrite_times(directory.path, time_s)
            kept[side] = samples(directory.path)
            directory.samples.unlink()
        (launch,) = plan.launches
        with directory.samples.open("a") as file:
            for record in kept[side]:
                again = {"launch": launch.number}
                if record["record"] == "case":
                    again["started_unix_s"] = next(now_s)
                file.write(json.dumps(record | again) + "\n")

    patch.setattr(compare, "measure", measure)


def by_size(record: dict[str, Any]) -> float:
    return 1e-6 + record["parameters"]["message_bytes"] * 1e-9


@pytest.fixture(scope="module")
def in_turn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two sides, a message a hundred thousand times as long on the second, and what was measured."""
    folder = tmp_path_factory.mktemp("in_turn")
    (folder / "short.toml").write_text(CASE.format(8))
    (folder / "long.toml").write_text(CASE.format(1 << 20))
    words = ["compare", "--measure", "short.toml", "long.toml", "--time", "600", "-o", "out"]
    with pytest.MonkeyPatch.context() as patch:
        measured_once(patch, by_size)
        answer = answered(folder, *words, "--fail-on-regression", "50%")
    assert answer.code == 1, answer
    return folder / "out"


def test_what_differs_is_decided_by_rounds(in_turn: Path) -> None:
    said = json.loads((in_turn / "comparison.json").read_text())
    (case,) = said["cases"]
    assert case["verdict"] == "worse"
    assert case["ratio_low"] > 1
    assert case["ratio"] == pytest.approx((1e-6 + 2**20 * 1e-9) / (1e-6 + 8e-9), rel=0.02)
    assert len(case["rounds"]) == said["rounds"] == fewest_rounds()
    assert "message_bytes=8 " in case["a"]
    assert "message_bytes=1048576 " in case["b"]


def test_the_sides_take_turns_a_b_b_a(in_turn: Path) -> None:
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


def test_both_sides_are_runs_of_their_own(in_turn: Path) -> None:
    for side, size in (("a", 8), ("b", 1 << 20)):
        rows = json.loads(answered(in_turn, "show", side, "mpi.latency", "--json").output)
        assert {row["parameters"]["message_bytes"] for row in rows} == {size}


def test_one_round_is_measured_however_short_the_time(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(CASE.format(8))
    answer = answered(tmp_path, "compare", "--measure", "one.toml", "one.toml", "--time", "0.001", "-o", "out")
    assert answer.code == 0, answer
    said = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert (said["rounds"], said["out_of_time"]) == (1, True)
    (case,) = said["cases"]
    assert case["verdict"] == "incomparable"
    assert case["reason"]


@pytest.mark.parametrize(("factor", "code"), [(1, 0), (10, 1)], ids=["alike", "slower"])
def test_a_regression_is_confirmed_by_another_measurement(
    factor: float, code: int, in_turn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The times of the second run are ten times as long; measured again, both are alike, or it is slow again."""
    for name, time_s in (("before", 1e-6), ("slower", 1e-5)):
        run = Path(shutil.copytree(in_turn / "a", tmp_path / name))
        rewrite_times(run, lambda _, time_s=time_s: time_s)
        assert answered(tmp_path, "analyze", name).code == 0
    words = ["compare", "before", "slower", "--fail-on-regression", "50%"]
    assert answered(tmp_path, *words).code == 1
    sides = iter((1e-6, factor * 1e-6))
    measured_once(monkeypatch, lambda _: next(sides))
    again = answered(tmp_path, *words, "--confirm", "--time", "600", "-o", "again")
    assert again.code == code, again
    assert ("not confirmed" in again.output) == (code == 0)
    assert json.loads((tmp_path / "again" / "comparison.json").read_text())["rounds"] >= fewest_rounds(0.01)


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["a", "b", "--time", "5"], "--time: ... --measure ... --confirm"),
        (["a", "b", "--measure", "--confirm"], "--measure: "),
        (["a.toml", "b.toml", "--measure"], "a.toml"),
        (["x/scope-measure", "openmpi", "--measure"], "x/scope-measure: ... build"),
    ],
)
def test_what_cannot_be_measured_is_refused(words: list[str], refusal: str, tmp_path: Path) -> None:
    assert mentions(answered(tmp_path, "compare", *words).refusal(), refusal)
