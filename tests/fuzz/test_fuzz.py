"""A share of the hostile inputs of `benchmarks/fuzz.py`, the same at every run; each complaint seen to come."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

import scope.cli
from tests.fuzz import damage, inputs, kinds
from tests.fuzz.inputs import Input

SEED = 17
INPUTS = {"command": 60, "table": 60, "damage": 30, "fault": 30, "process": 1}


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    kinds.prepare()


@pytest.mark.parametrize("kind", INPUTS)
def test_no_hostile_input_does_harm(kind: str) -> None:
    found = {number: kinds.tried(kind, SEED, number) for number in range(INPUTS[kind])}
    assert {number: verdict for number, verdict in found.items() if verdict is not None} == {}


def raise_an_error() -> None:
    raise ValueError("no one line")


def sleep() -> None:
    time.sleep(60)


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
    scope.cli.dispatch("show", ["run", "--json", "--all"])


def accept_everything() -> None:
    pass


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (raise_an_error, "trace"),
        (sleep, "hang"),
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

    monkeypatch.setattr(scope.cli, "main", main)
    if complaint == "hang":
        monkeypatch.setattr(inputs, "LIMIT_S", 0.2)
    verdict = inputs.verdict(on_a_run, random.Random(1))
    assert verdict is not None
    assert verdict.complaint == complaint


def test_an_accepted_mistake_is_a_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    def main() -> NoReturn:
        raise SystemExit(0)

    monkeypatch.setattr(scope.cli, "main", main)
    found = [kinds.tried("table", SEED, number) for number in range(12)]
    assert "accepted" in {verdict.complaint for verdict in found if verdict is not None}
