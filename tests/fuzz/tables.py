"""Files that people write: experiments, studies, mixes, labs, topologies; with a wrong value, key or byte."""

from __future__ import annotations

import copy
import math
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomli_w

from tests.fuzz import values
from tests.fuzz.inputs import Answer, Complaint, Input

Path_ = tuple[str | int, ...]
EXAMPLES = {
    "experiment.toml": """\
name = "mine"
module = "baseline"
seed = 7
launches = 2
time_s = 30.0
only = ["mpi.*"]
ranks = [2, 4]
refine = false
[sampling]
precision = 0.05
budget_s = 0.25
minimum_repetitions = 5
maximum_repetitions = 500
[launcher]
hosts = ["a:2", "b:2"]
ranks_per_host = 2
binding = "core"
oversubscribe = true
nodes = 2
time_limit_s = 600.0
time_margin_s = 30.0
[[case]]
benchmark = "mpi.latency"
mode = ["standard", "ready"]
message_bytes = [0, "1Ki"]
ranks = 2
""",
    "study.toml": """\
name = "waves"
program = "./waves --points {points}"
ranks = [1, 2]
placement = ["packed", "spread"]
repetitions = 3
seed = 1
limit_s = 60.0
interval_s = 0.5
monitored = true
per = "points"
[parameters]
points = [1000, 2000]
[environment]
OMP_NUM_THREADS = "1"
[launcher]
ranks_per_host = 2
oversubscribe = true
""",
    "mix.toml": """\
name = "department"
rounds = 3
time_s = 600.0
seed = 5
[launcher]
oversubscribe = true
[[job]]
benchmark = "application.cfd n=64"
ranks = 2
weight = 3
[[job]]
name = "waves"
program = "./waves --points 2000"
check = "grep -q converged"
limit_s = 60.0
""",
    "lab.toml": """\
title = "two clusters"
[[group]]
name = "left"
hosts = 2
ranks_per_host = 2
rate_mbit_per_s = 100.0
latency_us = 50.0
links = 1
[[group]]
name = "right"
hosts = 3
rate_mbit_per_s = 100.0
[[switch]]
name = "middle"
shared_mbit_per_s = 10.0
[[trunk]]
between = ["left", "middle"]
rate_mbit_per_s = 1000.0
latency_us = 10.0
links = 2
[[trunk]]
between = ["middle", "right"]
rate_mbit_per_s = 1000.0
""",
    "topology.toml": """\
format = 1
origin = "measured"
[host]
latency_s = 1e-06
bandwidth_bytes_per_s = 8e9
[[group]]
name = "all"
level = "lan"
latency_s = 1e-04
bandwidth_bytes_per_s = 1e8
confidence = 0.9
[[group]]
name = "left"
level = "cluster"
parent = "all"
hosts = ["left1", "left2"]
latency_s = 5e-05
bandwidth_bytes_per_s = 1.2e7
uplink_bytes_per_s = 2e7
[[group]]
name = "right"
level = "cluster"
parent = "all"
hosts = ["right1"]
latency_s = 5e-05
bandwidth_bytes_per_s = 1.2e7
[[exception]]
host = "left2"
bandwidth_bytes_per_s = 1e6
latency_s = 6e-05
""",
}
COMMANDS = {
    "experiment.toml": [["run", "experiment.toml"], ["run", "experiment.toml", "--submit", "--dry-run"]],
    "study.toml": [["campaign", "study.toml", "--dry-run"]],
    "mix.toml": [["throughput", "mix.toml"]],
    "lab.toml": [["lab", "up", "lab.toml"]],
    "topology.toml": [
        ["topology", "show", "topology.toml"],
        ["topology", "show", "topology.toml", "--json"],
        ["topology", "show", "topology.toml", "--html", "page.html"],
        ["topology", "load", "topology.toml"],
    ],
}
FREE = {"parameters", "environment", "case"}
"""Tables whose keys and types are the user's."""


def table(chance: random.Random, place: Path) -> Input:
    """Return a command that reads a file with something wrong, and what must be refused."""
    name = chance.choice(list(EXAMPLES))
    wrong = mistaken(tomllib.loads(EXAMPLES[name]), chance)
    if wrong is None:
        (place / name).write_bytes(values.mangled(EXAMPLES[name].encode(), chance))
        return Input(chance.choice(COMMANDS[name]))
    content, key = wrong
    (place / name).write_text(tomli_w.dumps(content))
    return Input(chance.choice(COMMANDS[name]), judge=lambda answer: _accepted(answer, name, key) if key else None)


def mistaken(content: dict[str, Any], chance: random.Random) -> tuple[dict[str, Any], str] | None:
    """Return a table with a value, or a key, that is wrong; the key that must be refused, if that is certain.

    None where the bytes of the file are to be changed instead.
    """
    content = copy.deepcopy(content)
    *above, last = chance.choice(list(leaves(content)))
    inner: Any = content
    for part in above:
        inner = inner[part]
    free = bool(FREE.intersection(above)) and last != "benchmark"
    way = chance.random()
    if way < 0.6:
        before, inner[last] = inner[last], values.value(chance)
        certain = not free and isinstance(before, bool | int | float) and not fits(before, inner[last])
        return content, _named([*above, last]) if certain else ""
    if way < 0.7:
        del inner[last]
        return content, ""
    if way < 0.8 and isinstance(inner, dict):
        inner["surprise"] = values.value(chance)
        return content, "" if FREE.intersection(above) else "surprise"
    return None


def leaves(content: Any) -> Iterator[Path_]:
    """Yield the keys that lead to every value that is no table."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            yield from ((key, *inner) for inner in leaves(value))
        else:
            yield (key,)


def fits(before: bool | int | float, now: Any) -> bool:
    """Say whether a value can stand where a number or a truth value stood."""
    if isinstance(before, bool) or isinstance(now, bool):
        return isinstance(before, bool) and isinstance(now, bool)
    right = isinstance(now, int) or (isinstance(before, float) and isinstance(now, float) and math.isfinite(now))
    return right and now >= 0


def _named(path: list[str | int]) -> str:
    """Return the name by which messages call a key: the last word."""
    return next(part for part in reversed(path) if isinstance(part, str))


def _accepted(answer: Answer, name: str, key: str) -> tuple[Complaint, str] | None:
    """Say that a wrong value was accepted, or refused without the name of its file or key."""
    refused = answer.code == 2 and name in answer.errors and key in answer.errors
    return None if refused else ("accepted", f"{key}: exit code {answer.code}: {answer.errors[-500:]}")
