"""What a run tells while it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpcscope.engine.progress import Silent
from hpcscope.engine.run import first_values
from hpcscope.engine.run.first_values import WithFirstValues, so_far
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import Launch


@pytest.fixture
def first_launches(golden_copy: Path) -> Path:
    """A run that had one launch of each batch so far."""
    samples = golden_copy / "samples.jsonl"
    lines = samples.read_text().splitlines(keepends=True)
    number = 1 + max(json.loads(line)["launch"] for line in lines) // 6
    samples.write_text("".join(line for line in lines if json.loads(line)["launch"] < number))
    return golden_copy


def test_the_first_ladders_are_told_and_nothing_is_written(first_launches: Path) -> None:
    before = sorted(path.name for path in first_launches.iterdir())
    lines = so_far(first_launches)
    assert 0 < len(lines) <= first_values.MOST_LINES
    assert all(": " in line and "mpi" in line for line in lines)
    assert sorted(path.name for path in first_launches.iterdir()) == before


def test_a_few_results_are_told_where_there_is_no_ladder(first_launches: Path) -> None:
    samples = first_launches / "samples.jsonl"
    records = [json.loads(line) for line in samples.read_text().splitlines()]
    kept = [one for one in records if one.get("benchmark", "mpi.barrier") == "mpi.barrier"]
    samples.write_text("".join(json.dumps(one) + "\n" for one in kept))
    lines = so_far(first_launches)
    assert lines
    assert len({line.partition(":")[0] for line in lines}) == len(lines)
    assert all("barrier" in line for line in lines)


class Told(Silent):
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.ended: list[int] = []
        self.lines: list[list[str]] = []

    def launch_ended(self, launch: Launch, failure: str) -> None:
        self.ended.append(launch.number)

    def values_known(self, lines: list[str]) -> None:  # type: ignore[override]
        self.lines.append(lines)


def test_each_batch_is_told_once_and_not_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    known = iter([["a"], ["a"], ["a", "b"]])
    monkeypatch.setattr(first_values, "so_far", lambda _directory: next(known))
    told = Told()
    listener = WithFirstValues(told, Path("run"), last=7)
    for number, ranks, failure in ((1, 2, ""), (2, 2, ""), (3, 4, "lost"), (4, 4, ""), (5, 8, ""), (7, 16, "")):
        listener.launch_ended(Launch(number, ranks, "default", Placement("core", "all"), ()), failure)
    assert told.ended == [1, 2, 3, 4, 5, 7]
    assert told.lines == [["a"], ["a", "b"]]
    listener.sentinel_ended(Launch(8, 2, "default", Placement("core", "all"), ()), 1.0)  # handed on


def test_samples_that_cannot_be_read_yet_do_not_end_the_run(tmp_path: Path) -> None:
    told = Told()
    WithFirstValues(told, tmp_path, last=7).launch_ended(Launch(1, 2, "default", Placement("core", "all"), ()), "")
    assert (told.ended, told.lines) == ([1], [])
