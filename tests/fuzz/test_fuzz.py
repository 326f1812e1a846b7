"""A share of the hostile inputs of `benchmarks/fuzz.py`, the same at every run; each complaint seen to come."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

import hpcscope.cli
from tests.fuzz import damage, inputs, kinds
from tests.fuzz.inputs import Input

SEED = 17
INPUTS = {"command": 30, "table": 30, "output": 15, "damage": 15, "folder": 10, "fault": 15, "process": 1}


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    kinds.prepare()


@pytest.mark.parametrize("kind", INPUTS)
def test_no_hostile_input_does_harm(kind: str) -> None:
    found = list(kinds.tried_in_turn(SEED, [(kind, number) for number in range(INPUTS[kind])]))
    assert len(found) == INPUTS[kind]
    assert [one for one in found if one[2] is not None] == []


@pytest.mark.parametrize("end", [1, 137])
def test_an_input_that_fails_among_others_is_found(end: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a command fails without a word, and where it ends the process that was to try the others."""
    real = hpcscope.cli.main

    def main() -> None:
        if sys.argv[1:2] and sys.argv[1].startswith("s"):  # several commands: which are drawn depends on all
            os._exit(end) if end > 2 else sys.exit(end)
        real()

    monkeypatch.setattr(hpcscope.cli, "main", main)
    which = [("command", number) for number in range(20)]
    found = [one[1] for one in kinds.tried_in_turn(SEED, which) if one[2] is not None]
    assert found
    assert found == [number for _, number in which if kinds.tried("command", SEED, number) is not None]


def raise_an_error() -> None:
    raise ValueError("no one line")


def hang() -> None:
    signal.pause()


def say_nothing() -> NoReturn:
    raise SystemExit(1)


def leave_a_file() -> None:
    Path("tmp", "left").touch()


def cut_the_samples() -> None:
    samples = Path("run", "samples.jsonl")
    samples.write_bytes(samples.read_bytes()[:-400])


def change_a_figure() -> None:
    file = Path("run", "statistics.json")
    file.write_text(file.read_text().replace('"median": ', '"median": 1', 1))
    Path("run", "checksums.sha256").unlink()
    hpcscope.cli.dispatch("show", ["run", "--json", "--all"])


def accept_everything() -> None:
    pass


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (raise_an_error, "trace"),
        (hang, "hang"),
        (say_nothing, "silence"),
        (leave_a_file, "leftover"),
        (cut_the_samples, "lost samples"),
        (change_a_figure, "silent change"),
    ],
)
def test_every_complaint_is_made(
    command: Callable[[], None], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_a_run(chance: random.Random, place: Path) -> Input:
        damage.small_run(place / "run")
        words = ["show", "run", *(["--json", "--all"] if command is change_a_figure else [])]
        return Input(words, judge=lambda answer: damage.silent_change(answer, words, "", place / "run"))

    def main() -> NoReturn:
        command()
        raise SystemExit(0)

    monkeypatch.setattr(hpcscope.cli, "main", main)
    if complaint == "hang":
        monkeypatch.setattr(inputs, "LIMIT_S", 0.2)
    verdict = inputs.verdict(on_a_run, random.Random(1))
    assert verdict is not None
    assert verdict.complaint == complaint


def test_an_accepted_mistake_is_a_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    def main() -> NoReturn:
        raise SystemExit(0)

    monkeypatch.setattr(hpcscope.cli, "main", main)
    found = [kinds.tried("table", SEED, number) for number in range(12)]
    assert "accepted" in {verdict.complaint for verdict in found if verdict is not None}
