"""A health check in the form in which a repository describes runs; its values are medians over equal nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import exp
from pathlib import Path
from typing import Any

import numpy as np

from hpcscope.archive.entry import KeptFigure
from hpcscope.health import verdict
from hpcscope.health.facts import HARDWARE
from hpcscope.health.records import FILE, NAME, PREFIX, HealthFile
from hpcscope.machine.machine import Host, Machine, Processor
from hpcscope.rundirectory import RunFile, read_json
from hpcscope.statistics.order_statistics import median_interval

MIB = 1 << 20
COUNTS = {"sockets": "sockets", "cores": "cores", "threads": "hardware threads"}


def described(folder: Path) -> tuple[RunFile, Machine, list[KeptFigure]]:
    """Return a check as a run record, its hosts, and its values; UsageError if it cannot be read."""
    record = read_json(folder / FILE, HealthFile)
    known = {visit.host: visit.facts for visit in reversed(record.visits) if visit.answered}
    run = RunFile(name=NAME, module=NAME, **record.model_dump(include=set(RunFile.model_fields)))
    made: dict[str, Any] = {"hosts": [_host(host, known.get(host, {})) for host in record.hosts], "build": None}
    machine = Machine.model_construct(**made)
    return run, machine, [_figure(record, sight, known[sight.hosts[0]]) for sight in verdict.sights(record)]


def _figure(record: HealthFile, sight: verdict.Sight, facts: Mapping[str, str]) -> KeptFigure:
    costs = sight.screening.typical
    bounds = median_interval(costs)
    middle, *ends = (
        sight.check.cost(exp(cost))
        for cost in (float(np.median(costs)), *((bounds.low, bounds.high) if bounds is not None else ()))
    )
    benchmark = f"{PREFIX}{sight.check.name}"
    of = {name: facts.get(name, "") for name in HARDWARE}
    key = [benchmark, {"place": sight.place, **of}, 0, "", "", "median", record.origin]
    return KeptFigure(
        benchmark=benchmark,
        metric="median",
        label=f"{sight.label}, nodes with {of['processor'] or 'unknown processors'} ({of['cores']} cores)",
        key=json.dumps(key, sort_keys=True, ensure_ascii=False, separators=(",", ":")),
        ranks=0,
        unit=sight.check.unit,
        better="higher" if sight.check.higher_is_better else "lower",
        origin=record.origin,
        median=middle,
        low=min(ends, default=None),
        high=max(ends, default=None),
        launches=1,
    )


def _host(name: str, facts: Mapping[str, str]) -> Host:
    """Return the host facts that a repository needs; a check does not know links and many other facts."""
    counts: dict[str, Any] = {of: _number(facts.get(fact)) for of, fact in COUNTS.items()}
    made: dict[str, Any] = {"name": name, "kernel": facts.get("kernel", ""), "links": []}
    made["processor"] = Processor.model_construct(model=facts.get("processor", ""), **counts)
    return Host.model_construct(**made, memory_bytes=_number(facts.get("memory")) * MIB)


def _number(text: str | None) -> int:
    digits = (text or "").partition(" ")[0]
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 16 else 0
