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
    for run in runs:
        machine, commit = _machine(run), _commit(run)
        about = {"machine": machine, **_about(run)}
        files[f"{machine}/machine.json"] = {**about, "version": 1}
        files[f"{machine}/{commit[:8]}-{ENVIRONMENT}.json"] = {
            **{"commit_hash": commit, "env_name": ENVIRONMENT, "date": _milliseconds(run), "params": about},
            **{"python": "", "requirements": {}, "env_vars": {}, "result_columns": list(COLUMNS)},
            **{"results": {name: _row(run, summaries) for name, summaries in _benchmarks(run).items()}},
            **{"durations": {}, "version": 2},
        }
        for name, found in _benchmarks(run).items():
            cases[name].update((repr(case.label), case.unit) for case in found)
    files["benchmarks.json"] = {**{name: _benchmark(name, found) for name, found in cases.items()}, "version": 2}
    return {
        name: json.dumps(content, indent=1).encode()  # asv spells infinity as Python does
        for name, content in files.items()
    }


def _benchmarks(run: Run) -> dict[str, list[Summary]]:
    """Return the results by their benchmarks and metrics, a figure for each label."""
    found: dict[str, dict[str, Summary]] = defaultdict(dict)
    for case in performance(run):
        if case.better == "lower":
            found[f"{case.benchmark}.{case.metric}"].setdefault(case.label, case)
    return {name: list(figures.values()) for name, figures in found.items()}


def _row(run: Run, cases: Sequence[Summary]) -> list[Any]:
    intervals = [_interval(case) for case in cases]
    columns = {
        "result": [case.median for case in cases],
        "params": [[repr(case.label) for case in cases]],
        "version": VERSION,
        "started_at": _milliseconds(run),
        "duration": None,
        "stats_ci_99_a": [low for low, _ in intervals],
        "stats_ci_99_b": [high for _, high in intervals],
        "stats_q_25": [case.p25 for case in cases],
        "stats_q_75": [case.p75 for case in cases],
        "stats_repeat": [case.n for case in cases],
        "samples": [case.launch_medians or None for case in cases],
    }
    return [columns[name] for name in COLUMNS]


def _interval(case: Summary) -> tuple[float, float]:
    """Return the 99 % interval of the launches' medians, as asv has it: without an end where they are too few."""
    medians = sorted(case.launch_medians)
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


def _machine(run: Run) -> str:
    """Return the name of the machine, which is that of a folder, too."""
    if not run.machine.hosts:
        raise UsageError(f"{run.path}/machine.json: hosts: asv needs at least one")
    first, *others = (host.name for host in run.machine.hosts)
    plain = re.sub(r"[^\w-]+", "_", first)
    return f"{plain}+{len(others)}" if others else plain


def _about(run: Run) -> dict[str, str]:
    first = run.machine.hosts[0]
    return {
        "arch": first.processor.architecture,
        "cpu": first.processor.model,
        "num_cpu": str(sum(host.processor.threads for host in run.machine.hosts)),
        "os": f"{first.operating_system}, Linux {first.kernel}",
        "ram": str(sum(host.memory_bytes for host in run.machine.hosts)),
    }


def _commit(run: Run) -> str:
    name = run.record.name
    if re.fullmatch(r"[0-9a-f]{40}", name):
        return name
    return hashlib.sha1(f"{name} {run.record.started_unix_s!r}".encode(errors="surrogateescape")).hexdigest()


def _milliseconds(run: Run) -> int:
    return round(run.record.started_unix_s * 1000)
