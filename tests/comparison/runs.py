"""Run directories with nothing but what a comparison reads, from launch medians of known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hpcscope.machine.machine import Machine
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.rundirectory import FORMAT, RunDirectory, write_json
from hpcscope.statistics.course import Course, Period, State
from hpcscope.statistics.summary import Summary
from tests import golden_records, golden_run
from tests.declared import catalog, described

LIMITS = ("node.matrix_multiply", "node.peak", "node.stream")
"""Declared in every run: what the others are held against."""


def summary(number: int, medians: Any, **changes: Any) -> Summary:
    """One latency of a made-up size with these launch medians."""
    values = sorted(float(value) for value in medians)
    figures = {name: None for name, field in Summary.model_fields.items() if field.is_required()}
    given = {"benchmark": "mpi.latency", "parameters": {"message_bytes": number}, "ranks": 2}
    given |= {"transport": "default", "placement": "core"} | changes
    batch = (given["ranks"], given["transport"], Placement.parse(given["placement"]))
    case = Case.of(catalog(), given["benchmark"], given["parameters"], batch)
    return Summary.model_validate(
        figures
        | {
            "metric": "latency_s",
            "unit": "s",
            "better": "lower",
            "definition": "half_round_trip",
            "primary": True,
            "origin": "measured",
            "valid": True,
            "reason": "",
            "median": float(np.median(values)),
            "ci_low": values[0],
            "ci_high": values[-1],
            "interval_basis": "launches",
            "n": 100 * len(values),
            "launches": len(values),
            "launch_medians": [float(value) for value in medians],
            "mean": float(np.mean(values)),
            "between_modes": False,
            "state_medians": [],
            "launches_dependent": False,
            "invalid_share": 0.0,
        }
        | changes
        | case.model_dump()
    )


def write(
    path: Path, summaries: list[Summary], machine: dict[str, Any] | None = None, course: Course | None = None
) -> Path:
    """Write the files that a comparison reads."""
    path.mkdir(parents=True, exist_ok=True)
    directory = RunDirectory(path)
    unknown = Course(states=[], periods=[], launch_correlation=None, launches_dependent=False)
    write_json(directory.run, golden_records.run_record(golden_records.STARTED + 100))
    write_json(directory.statistics, {"format": FORMAT, "summaries": summaries, "course": course or unknown})
    names = {one.benchmark for one in summaries} | {"mpi.latency", *LIMITS}
    write_json(directory.benchmarks, described(*names))
    write_json(directory.machine, Machine.model_validate(machine or golden_run.machine()))
    return path


def course(arithmetic_s: float = 2e-3, slow_share: float = 0.0, factor: float = 2.0) -> Course:
    """Return the course of a run of 100 s whose first part is in the fastest state."""
    states = [State(factor=1.0, share=1 - slow_share, sentinel_s={"arithmetic": arithmetic_s})]
    if slow_share:
        states.append(State(factor=factor, share=slow_share, sentinel_s={"arithmetic": factor * arithmetic_s}))
    ends = [100 * (1 - slow_share), 100.0]
    periods = [
        Period(state=number, begin_unix_s=[0.0, ends[0]][number], end_unix_s=ends[number])
        for number in range(len(states))
    ]
    return Course(states=states, periods=periods, launch_correlation=None, launches_dependent=False)


def drawn(random: np.random.Generator, cases: int, launches: int, noise: float, steps: dict[int, float]) -> Any:
    """Launch medians around 10 µs; case i is slower by the share `steps[i]`. Shape (cases, launches)."""
    factors = np.array([1 + steps.get(case, 0.0) for case in range(cases)])[:, None]
    return 10e-6 * factors * np.exp(random.normal(0, noise, (cases, launches)))
