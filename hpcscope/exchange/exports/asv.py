"""The folder of results of asv (airspeed velocity): a file for each run, the machines, and the list of benchmarks.

A run belongs to the commit that its name is (`scope run --name $(git rev-parse HEAD)`); any other name gives a
commit of its own, which `asv compare` knows and `asv publish` does not. asv takes every rise for a regression:
rates, of which more is better, are left out. https://asv.readthedocs.io/en/stable/dev.html
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hpcscope.errors import UsageError
from hpcscope.exchange.exports import performance
from hpcscope.findings.results import Run
from hpcscope.statistics.order_statistics import median_ranks
from hpcscope.statistics.summary import Summary

COLUMNS = (
    *("result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b"),
    *("stats_q_25", "stats_q_75", "stats_repeat", "samples"),
)
VERSION = "1"
"""Version of every benchmark: asv compares results of equal versions only."""
CONFIDENCE = 0.99
"""Confidence of asv's intervals."""
ENVIRONMENT = "scope"


def write(runs: Sequence[Run]) -> dict[str, bytes]:
    """Return the files of asv's `results_dir`."""
    files: dict[str, Any] = {}
    cases: dict[str, dict[str, str]] = defaultdict(dict)
    for each in runs:
        machine, commit = _machine(each), _commit(each)
        about = {"machine": machine, **_about(each)}
        files[f"{machine}/machine.json"] = {**about, "version": 1}
        files[f"{machine}/{commit[:8]}-{ENVIRONMENT}.json"] = {
            **{"commit_hash": commit, "env_name": ENVIRONMENT, "date": _milliseconds(each), "params": about},
            **{"python": "", "requirements": {}, "env_vars": {}, "result_columns": list(COLUMNS)},
            **{"results": {name: _row(each, found) for name, found in _benchmarks(each).items()}},
            **{"durations": {}, "version": 2},
        }
        for name, found in _benchmarks(each).items():
            cases[name].update((repr(one.label), one.unit) for one in found)
    files["benchmarks.json"] = {**{name: _benchmark(name, found) for name, found in cases.items()}, "version": 2}
    return {
        name: json.dumps(content, indent=1).encode()  # asv spells infinity as Python does
        for name, content in files.items()
    }


def _benchmarks(each: Run) -> dict[str, list[Summary]]:
    """Return the results by their benchmarks and metrics, a figure for each label."""
    found: dict[str, dict[str, Summary]] = defaultdict(dict)
    for one in performance(each):
        if one.better == "lower":
            found[f"{one.benchmark}.{one.metric}"].setdefault(one.label, one)
    return {name: list(figures.values()) for name, figures in found.items()}


def _row(each: Run, found: Sequence[Summary]) -> list[Any]:
    intervals = [_interval(one) for one in found]
    columns = {
        "result": [one.median for one in found],
        "params": [[repr(one.label) for one in found]],
        "version": VERSION,
        "started_at": _milliseconds(each),
        "duration": None,
        "stats_ci_99_a": [low for low, _ in intervals],
        "stats_ci_99_b": [high for _, high in intervals],
        "stats_q_25": [one.p25 for one in found],
        "stats_q_75": [one.p75 for one in found],
        "stats_repeat": [one.n for one in found],
        "samples": [one.launch_medians or None for one in found],
    }
    return [columns[name] for name in COLUMNS]


def _interval(one: Summary) -> tuple[float, float]:
    """Return the 99 % interval of the launches' medians, as asv has it: without an end where they are too few."""
    medians = sorted(one.launch_medians)
    rank, coverage = median_ranks(len(medians), CONFIDENCE)
    return (medians[rank - 1], medians[-rank]) if coverage >= CONFIDENCE else (-math.inf, math.inf)


def _benchmark(name: str, cases: dict[str, str]) -> dict[str, Any]:
    in_seconds = set(cases.values()) == {"s"}
    return {
        **{"name": name, "code": "", "version": VERSION, "timeout": 60.0},
        **{"param_names": ["case"], "params": [list(cases)]},
        **{"type": "time" if in_seconds else "track"},
        **{"unit": "seconds" if in_seconds else next(iter(cases.values()))},
    }


def _machine(each: Run) -> str:
    """Return the name of the machine, which is that of a folder, too."""
    if not each.machine.hosts:
        raise UsageError(f"{each.path}/machine.json: hosts: asv needs at least one")
    first, *others = (host.name for host in each.machine.hosts)
    plain = re.sub(r"[^\w-]+", "_", first)
    return f"{plain}+{len(others)}" if others else plain


def _about(each: Run) -> dict[str, str]:
    first = each.machine.hosts[0]
    return {
        "arch": first.processor.architecture,
        "cpu": first.processor.model,
        "num_cpu": str(sum(host.processor.threads for host in each.machine.hosts)),
        "os": f"{first.operating_system}, Linux {first.kernel}",
        "ram": str(sum(host.memory_bytes for host in each.machine.hosts)),
    }


def _commit(each: Run) -> str:
    name = each.record.name
    if re.fullmatch(r"[0-9a-f]{40}", name):
        return name
    return hashlib.sha1(f"{name} {each.record.started_unix_s!r}".encode(errors="surrogateescape")).hexdigest()


def _milliseconds(each: Run) -> int:
    return round(each.record.started_unix_s * 1000)
