"""Turns what a file of format 1 holds into what format 2 would hold; plain data in, plain data out.

Derived files (statistics.json, models.json, findings.json) are not upgraded but derived anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from scope.format1.names import METRICS, parameter, settings, value

FORMAT = 2
"""What the files are upgraded to."""
Table = dict[str, Any]


def run(old: Table) -> Table:
    """Upgrade `run.json`."""
    return old | {"format": FORMAT}


def machine(old: Table) -> Table:
    """Upgrade `machine.json`."""
    hosts = []
    for host in old["hosts"]:
        processor = dict(host["processor"])
        processor["quota_processors"] = processor.pop("quota_cores", None)
        hosts.append(host | {"processor": processor})
    return old | {"format": FORMAT, "hosts": hosts}


def benchmarks(old: list[Table]) -> list[Table]:
    """Upgrade `benchmarks.json`; roles that format 1 did not record are those of the benchmark of that name."""
    return [_benchmark(one) if "rank_rule" in one else one for one in old]


def record(old: Table) -> Table:
    """Upgrade a line of `samples.jsonl`."""
    if old.get("record") == "launch":
        processes = [_renamed(one, {"cores": "processors"}) for one in old["processes"]]
        return old | {"format": FORMAT, "processes": processes}
    return _case(old) if old.get("record") == "case" else old


def plan(old: str) -> str:
    """Upgrade the text of `plan.txt`."""
    first, *lines = old.splitlines() or [""]
    upgraded = [line if line.startswith("launch ") else _planned(line) for line in lines]
    return "\n".join([first.replace("format=1 ", f"format={FORMAT} ", 1), *upgraded]) + "\n"


def experiment(old: Table) -> Table:
    """Upgrade `experiment.toml` as a run of format 1 wrote it."""
    sampling = _renamed(old.get("sampling", {}), {"interval": "precision"})
    launcher = _renamed(old.get("launcher", {}), {"agent": "remote_shell"})
    cases = [{"benchmark": one["benchmark"]} | _selection(one) for one in old.get("case", [])]
    return old | {"sampling": sampling, "launcher": launcher} | ({"case": cases} if cases else {})


def _renamed(old: Table, names: dict[str, str]) -> Table:
    return {names.get(key, key): each for key, each in old.items()}


def _case(old: Table) -> Table:
    benchmark = old["benchmark"]
    new = _renamed(old, {"arrivals": "rank_states"}) | {"parameters": settings(benchmark, old["parameters"])}
    if old.get("stopped") == "interval":
        new["stopped"] = "precision"
    if "rank_states" in new:
        new["rank_states"] = [_renamed(one, {"last_sign_s": "last_heartbeat_s"}) for one in new["rank_states"]]
    if "series" in old:
        new["series"] = [
            series | {"observed": _renamed(series["observed"], METRICS)} if "observed" in series else series
            for series in old["series"]
        ]
    return new


def _planned(line: str) -> str:
    benchmark, _, rest = line.partition(" ")

    def word(match: re.Match[str]) -> str:
        if match[1] == "sampling.interval":
            return f"sampling.precision={match[2]}"
        return f"{parameter(benchmark, match[1])}={value(benchmark, match[1], match[2])}"

    return " ".join(filter(None, [benchmark, re.sub(r"([\w.]+)=(\S+)", word, rest)]))


def _selection(old: Table) -> Table:
    benchmark = old["benchmark"]
    return {
        parameter(benchmark, key): [value(benchmark, key, each) for each in values]
        if isinstance(values, list)
        else value(benchmark, key, values)
        for key, values in old.items()
        if key != "benchmark"
    }


_RANKS: dict[str, Table] = {
    "even": {"multiple_of": 2},
    "square": {"square": True},
    "one_or_seven": {"one_of": [1, 7]},
}


def _benchmark(old: Table) -> Table:
    name = old["name"]
    short = name.partition(".")[2]
    kept = _declarations().get(name, {"title": short.replace("_", " "), "family": short, "requires": []})
    ranks = {"minimum": old["minimum_ranks"], "maximum": old["maximum_ranks"]} | _RANKS.get(old["rank_rule"], {})
    known = {key: kept.get(key, []) for key in ("routines", "rungs", "costs")}
    return {
        **{key: old[key] for key in ("name", "summary", "source", "specification", "available", "reason")},
        **{key: kept[key] for key in ("title", "family", "requires")},
        "ranks": kept.get("ranks", ranks),
        **known,
        "parameters": [_parameter(name, one, kept.get("parameters", {})) for one in old["parameters"]],
        "metrics": [_metric(one, kept.get("metrics", {})) for one in old["metrics"]],
        "sweeps": [one | {"cases": _planned(f"{name} {one['cases']}").partition(" ")[2]} for one in old["sweeps"]],
    }


def _parameter(benchmark: str, old: Table, kept: Table) -> Table:
    name = parameter(benchmark, old["name"])
    role = "size" if name == "message_bytes" else "problem"
    declared = kept.get(name, {"label": name.replace("_", " "), "role": role})
    renamed = {
        "name": name,
        "default": value(benchmark, old["name"], old["default"]),
        "choices": [value(benchmark, old["name"], each) for each in old.get("choices", [])],
    }
    return {**old, **renamed, **declared}


def _metric(old: Table, kept: Table) -> Table:
    name = METRICS.get(old["name"], str(old["name"]))
    return {**old, "name": name, **kept.get(name, {"label": name.replace("_", " "), "role": "result"})}


@cache
def _declarations() -> dict[str, Table]:
    """Return the declarations of format 2, of benchmarks that format 1 knew."""
    text = (Path(__file__).parent / "declarations.json").read_text(encoding="utf-8")
    declarations: dict[str, Table] = json.loads(text)
    return declarations


RAW: dict[str, Callable[[Any], Any]] = {"run.json": run, "machine.json": machine}
"""The JSON files of a run directory that carry their format."""
