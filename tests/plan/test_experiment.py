"""Experiments from TOML and the command line, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hpcscope.errors import UsageError
from hpcscope.plan.experiment import resolve, write
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.hosts import HostSlots

EXAMPLE = """
module = "baseline"
seed = 7
launches = 6
[sampling]
precision = 0.02
budget_s = 0.25
[launcher]
kind = "mpiexec"
hosts = ["a:2", "b:2"]
binding = "core"
[[case]]
benchmark = "mpi.latency"
mode = ["standard"]
message_bytes = [0, "1Ki"]
ranks = 2
"""


def from_text(folder: Path, text: str, **options: Any) -> Experiment:
    file = folder / "experiment.toml"
    file.write_text(text)
    return resolve(file, options)


def test_every_key_arrives(tmp_path: Path) -> None:
    experiment = from_text(tmp_path, EXAMPLE)
    assert (experiment.seed, experiment.launches, experiment.sampling.budget_s) == (7, 6, 0.25)
    assert experiment.launcher.hosts == (HostSlots("a", 2), HostSlots("b", 2))
    selection = experiment.case[0]
    assert selection.benchmark == "mpi.latency"
    assert selection.factors == {"mode": ["standard"], "message_bytes": ["0", "1Ki"], "ranks": ["2"]}


def test_options_stand_over_the_file(tmp_path: Path) -> None:
    experiment = from_text(tmp_path, EXAMPLE, **{"launches": 2, "launcher.binding": "none", "seed": None})
    assert (experiment.launches, experiment.launcher.binding, experiment.seed) == (2, "none", 7)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    experiment = from_text(tmp_path, EXAMPLE, name="a-name.2", mpi='a "quoted" näme')
    assert from_text(tmp_path, write(experiment)) == experiment
    default = resolve(None, {})
    assert from_text(tmp_path, write(default)) == default


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lunches = 3", ["experiment.toml: lunches = 3", "launches, ", "launches?"]),
        ("[sampling]\nbudget = 1", ["sampling.budget = 1", "budget_s", "budget_s?"]),
        ("[launcher]\nhost = []", ["launcher.host = []", "hosts?"]),
        ("launches = -1", ["launches = -1", "1 to 1000"]),
        ("launches = 'many'", ['launches = "many"', "integer"]),
        ("[sampling]\nbudget_s = 1e99", ["sampling.budget_s = 1e+99", "1h"]),
        ("[sampling]\nprecision = 0", ["sampling.precision = 0", "0%"]),
        ("module = 'base'", ['module = "base"', "baseline, standard, advanced", "baseline?"]),
        ("[launcher]\nbinding = 'cores'", ["launcher.binding", "core, socket, none"]),
        ("[[case]]\nmode = 'x'", ["case[0].benchmark", "missing"]),
        ("launches = = 3", ["experiment.toml: not TOML", "line 1"]),
        ("launcher = 3", ["launcher = 3"]),
        ("launches = true", ["launches = true", "integer"]),
        ("launches = '3'", ['launches = "3"', "integer"]),
        ("launches = 3.0", ["launches = 3.0", "integer"]),
        ("refine = 1", ["refine = 1", "true or false"]),
        ("time_s = nan", ["time_s = NaN", "30d"]),
        ("[sampling]\nbudget_s = inf", ["sampling.budget_s = Infinity", "1h"]),
        ("ranks = [2, -1]", ["ranks[1] = -1", "integer", "1"]),
        ("mpi = ''", ['mpi = ""', "empty"]),
        ("only = ['']", ['only[0] = ""', "empty"]),
        (f"only = ['{'[' * 20_000}']", ['only[0] = "[[', "4096"]),
        ('[launcher]\nhosts = ["a", "b\\nc"]', ["launcher.hosts[1]", "host"]),
        ('[launcher]\narguments = ["a\\u0000"]', ["launcher.arguments[0]", "U+0000"]),
        ("[[case]]\nbenchmark = 3", ["case[0].benchmark = 3", "text"]),
        (
            "[[case]]\nbenchmark = 'mpi.latency'\nranks = 1.5",
            ["case[0].ranks = 1.5", "integer, a word"],
        ),
        ("[[case]]\nbenchmark = 'mpi.latency'\nmode = [true]", ["case[0].mode = [true]", "integer"]),
        ("[[case]]\nbenchmark = 'mpi.latency'\nmode = {a = 1}", ["case[0].mode = ", "integer, a word"]),
        (f"seed = {'9' * 4000}", ["seed = 99999", "integer"]),
        (f"seed = {'9' * 5000}", ["experiment.toml: not TOML"]),
        (f"time_s = {'[' * 5000}{']' * 5000}", ["experiment.toml: not TOML"]),
    ],
)
def test_a_mistake_is_one_line_with_file_key_value_and_what_is_allowed(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    with pytest.raises(UsageError) as refusal:
        from_text(tmp_path, text)
    message = str(refusal.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_wrong_setting_is_named_without_the_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^launches = -3: .*\b1\b"):
        from_text(tmp_path, EXAMPLE, launches=-3)
    with pytest.raises(UsageError, match=r"^launcher\.ranks_per_host = 0"):
        resolve(None, {"launcher.ranks_per_host": 0})


def test_a_wrong_value_that_an_option_replaces_is_named_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"experiment\.toml: launches = -3: "):
        from_text(tmp_path, "launches = -3\n", launches=2)
    with pytest.raises(UsageError, match=r'experiment\.toml: launcher\.binding = "cor": '):
        from_text(tmp_path, "[launcher]\nbinding = 'cor'\n", **{"launcher.binding": "core"})


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.toml: "):
        resolve(tmp_path / "gone.toml", {})


@pytest.mark.parametrize(
    ("options", "title"),
    [
        ({}, "baseline"),
        ({"module": "standard"}, "standard"),
        ({"only": ["mpi.latency"]}, "mpi.latency"),
        ({"only": ["mpi.*", "node", "network"]}, "mpi-and-2-more"),
        ({"only": ["*"]}, "baseline"),
        ({"case": [{"benchmark": "mpi.latency"}, {"benchmark": "mpi.latency"}]}, "mpi.latency"),
        ({"name": "spring", "only": ["mpi.latency"]}, "spring"),
    ],
)
def test_a_run_is_named_after_what_it_measures(options: dict[str, Any], title: str) -> None:
    assert resolve(None, options).title == title
