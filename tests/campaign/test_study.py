"""Studies: what they may say, what is refused with which words, and the order of their runs."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hpcscope.errors import UsageError
from hpcscope.programs.campaign.study import Planned, filled, made, named, read
from tests.messages import mentions

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


def test_a_wrong_value_that_an_option_replaces_is_named_all_the_same() -> None:
    with pytest.raises(UsageError, match=r"study\.toml: repetitions = 0: "):
        made({**PLAIN, "repetitions": 0}, "study.toml", {"repetitions": 2})


def test_further_points_differ_in_what_they_name() -> None:
    further = [{"points": 30}, {"points": [10, 40], "order": 2}, {"points": 20}]
    parameters = {"points": [10, 20], "order": 1}
    asked = {"program": "./app {points} {order}", "parameters": parameters, "ranks": [1, 2]}
    study = made(asked | {"further_parameters": further}, "study.toml")
    found = Counter((point.parameters["points"], point.parameters["order"]) for point in study.points())
    assert found == dict.fromkeys([(10, 1), (20, 1), (30, 1), (10, 2), (40, 2)], 2), "one point of a kind"
    assert study.values_of("points") == [10, 20, 30, 40]
    with pytest.raises(UsageError, match=r"further_parameters: oder: .*points, order"):
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
        ({"program": "./app {point}"}, "{point}: "),
        ({"program": "./app {point}"}, "{points}?"),
        ({"program": "./app"}, "parameters.points: ... {points}"),
        ({"command": "mpiexec -n {ranks} ./app {points}"}, "program, command: exactly one"),
        ({"program": [], "command": "mpiexec ./app {points}"}, "{ranks}"),
        ({"ranks": [0]}, "ranks = 0: ... 1"),
        ({"ranks": [2, 2]}, "ranks = ... twice"),
        ({"repetition": 3}, "repetitions?"),
        ({"placement": "stacked"}, "placement"),
        ({"repetitions": 0}, "repetitions = 0"),
        ({"parameters": {"points": []}}, "points = []: "),
        ({"parameters": {"points": [1], "run": [1]}}, "parameters.run: "),
        ({"parameters": {"points": list(range(9999))}, "repetitions": 100}, "100000"),
        ({"per": "steps"}, "per = steps: "),
        ({"program": "./app 'open {points}"}, "program = ... : ... quotation"),
        ({"environment": {"A=B": "1"}}, 'environment.A=B = "A=B": '),
        ({"environment": {"A": "x\ny"}}, 'environment.A = "x\\ny": '),
        ({"parameters": {"points": [math.nan]}}, "parameters.points.0 = NaN: "),
        (
            {"parameters": {"points": [{"a": 1}]}},
            'parameters.points.0 = {"a": 1}: ',
        ),
        ({"limit_s": math.nan}, "limit_s = NaN: "),
        ({"limit_s": "60"}, 'limit_s = "60": '),
        ({"repetitions": True}, "repetitions = true: "),
        ({"ranks": [1, True]}, "ranks.1 = true: "),
        ({"monitored": 1}, "monitored = 1: "),
        ({"transport": "avian"}, "transport.0"),
        (
            {"program": [], "command": "mpiexec ./app {points}", "ranks": 1, "monitored": False}
            | {"transport": "active-messages"},
            "transport = active-messages: ",
        ),
        ({"launcher": {"hosts": [""]}}, 'launcher.hosts[0] = "": '),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refusal:
        made({**PLAIN, **change}, "study.toml")
    assert str(refusal.value).startswith("study.toml: ")
    assert mentions(str(refusal.value), words)
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
