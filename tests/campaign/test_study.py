"""Studies: what they may say, what is refused with which words, and the order of their runs."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scope.campaign.study import Planned, filled, made, named, read
from scope.errors import UsageError

PLAIN: dict[str, Any] = {
    "program": "./app --points {points} -v",
    "parameters": {"points": [10, 20]},
    "ranks": [1, 2],
}


def test_a_study_is_the_product_of_its_values() -> None:
    study = made({**PLAIN, "transport": ["default", "tcp"], "repetitions": 3}, "study.toml")
    runs = study.runs()
    assert [run.number for run in runs] == list(range(1, 25))
    assert set(Counter((run.parameters["points"], run.ranks, run.transport) for run in runs).values()) == {3}
    assert study.program == ["./app", "--points", "{points}", "-v"]


def test_further_points_differ_in_what_they_name() -> None:
    further = [{"points": 30}, {"points": [10, 40], "order": 2}, {"points": 20}]
    parameters = {"points": [10, 20], "order": 1}
    asked = {"program": "./app {points} {order}", "parameters": parameters, "ranks": [1, 2]}
    study = made(asked | {"further_parameters": further}, "study.toml")
    found = Counter((point.parameters["points"], point.parameters["order"]) for point in study.points())
    assert found == dict.fromkeys([(10, 1), (20, 1), (30, 1), (10, 2), (40, 2)], 2), "one point of a kind"
    assert study.values_of("points") == [10, 20, 30, 40]
    with pytest.raises(UsageError, match="further_parameters: oder: must be one of parameters: points, order"):
        made(asked | {"further_parameters": [{"oder": 1}]}, "study.toml")


def test_the_order_is_random_within_each_repetition_and_the_seed_decides_it() -> None:
    study = made(
        {**PLAIN, "parameters": {"points": list(range(2, 12))}, "repetitions": 2, "seed": 5}, "study.toml"
    )
    runs = study.runs()
    halves = [
        [(run.parameters["points"], run.ranks) for run in runs if run.repetition == number] for number in (1, 2)
    ]
    assert sorted(halves[0]) == sorted(halves[1])
    assert halves[0] != halves[1]
    assert [run.repetition for run in runs] == [1] * 20 + [2] * 20
    assert runs == study.runs()
    assert runs != study.model_copy(update={"seed": 6}).runs()


def test_words_are_filled_in() -> None:
    run = Planned(parameters={"points": 10, "fast": True}, ranks=2, number=7, repetition=3)
    words = filled(["{points}x{ranks}", "{run}/out-{repetition}", "{fast}"], run, Path("there"))
    assert words == ["10x2", "there/out-3", "true"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"program": "./app {point}"}, "{point}: no such parameter"),
        ({"program": "./app {point}"}, "did you mean {points}?"),
        ({"program": "./app"}, "parameters.points: must be used, as {points}"),
        ({"command": "mpiexec -n {ranks} ./app {points}"}, "program, command: exactly one"),
        ({"program": [], "command": "mpiexec ./app {points}"}, "must use {ranks}"),
        ({"ranks": [0]}, "ranks = 0: must be from 1"),
        ({"ranks": [2, 2]}, "must not name a value twice"),
        ({"repetition": 3}, "did you mean repetitions?"),
        ({"placement": "stacked"}, "placement"),
        ({"repetitions": 0}, "repetitions = 0"),
        ({"parameters": {"points": []}}, "points = []: must have at least one value"),
        ({"parameters": {"points": [1], "run": [1]}}, "parameters.run: must be a word other than"),
        ({"parameters": {"points": list(range(9999))}, "repetitions": 100}, "must be at most 100000"),
        ({"per": "steps"}, "per = steps: must be a parameter whose values are numbers"),
        ({"program": "./app 'open {points}"}, "no closing quotation"),
        ({"environment": {"A=B": "1"}}, 'environment.A=B = "A=B": must be the name of a variable'),
        ({"environment": {"A": "x\ny"}}, 'environment.A = "x\\ny": must have no line breaks'),
        ({"parameters": {"points": [math.nan]}}, "parameters.points.0 = NaN: must be a word, a finite number"),
        (
            {"parameters": {"points": [{"a": 1}]}},
            'parameters.points.0 = {"a": 1}: must be a word, a finite number',
        ),
        ({"limit_s": math.nan}, "limit_s = NaN: must be a finite number"),
        ({"limit_s": "60"}, 'limit_s = "60": must be a valid number'),
        ({"repetitions": True}, "repetitions = true: must be a valid integer"),
        ({"ranks": [1, True]}, "ranks.1 = true: must be a valid integer"),
        ({"monitored": 1}, "monitored = 1: must be a valid boolean"),
        ({"transport": "avian"}, "transport.0"),
        (
            {"program": [], "command": "mpiexec ./app {points}", "ranks": 1, "monitored": False}
            | {"transport": "active-messages"},
            "transport = active-messages: the ranks of a command that is not monitored cannot be told",
        ),
        ({"launcher": {"hosts": [""]}}, 'launcher.hosts[0] = "": must be a host\'s name'),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refusal:
        made({**PLAIN, **change}, "study.toml")
    assert str(refusal.value).startswith("study.toml: ")
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_file_is_read_and_the_command_line_goes_first(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text('program = "./app {n}"\nrepetitions = 2\n[parameters]\nn = 3\n')
    assert read(file, {"repetitions": 4, "seed": None}).repetitions == 4
    assert read(file).parameters == {"n": [3]}
    file.write_text("program = ")
    with pytest.raises(UsageError, match="not TOML"):
        read(file)


def test_a_name_after_a_program() -> None:
    assert named(["/usr/bin/lmp", "-in", "ls"]) == "lmp"
    assert named(["./a b*"]) == "a_b_"
    assert named(["mpiexec.hydra", "-n", "2", "/bin/sleep", "3"]) == "sleep"
    assert named(["/opt/bin/srun", "no-such-program"]) == "srun"
