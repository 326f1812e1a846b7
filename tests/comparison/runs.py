"""Run directories with nothing but what a comparison reads, from launch medians of known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from scope.machine.machine import Machine
from scope.rundirectory import RunDirectory, write_json
from scope.statistics.summary import Summary
from tests import golden_run


def summary(number: int, medians: Any, **changes: Any) -> Summary:
    """One latency of a made-up size with these launch medians."""
    values = sorted(float(value) for value in medians)
    figures = {
        name: None for name in Summary.model_fields if name not in ("tight_share", "invalid_share", "steps")
    }
    return Summary.model_validate(
        figures
        | {
            "benchmark": "mpi.latency",
            "parameters": {"message_bytes": number},
            "ranks": 2,
            "transport": "default",
            "placement": "core",
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
            "autocorrelated": False,
            "invalid_share": 0.0,
            "tight_share": 1.0,
        }
        | changes
    )


def write(path: Path, summaries: list[Summary], machine: dict[str, Any] | None = None) -> Path:
    """Write the two files."""
    path.mkdir(parents=True, exist_ok=True)
    directory = RunDirectory(path)
    write_json(directory.statistics, {"format": 1, "summaries": summaries})
    write_json(directory.machine, Machine.model_validate(machine or golden_run.machine()))
    return path


def drawn(random: np.random.Generator, cases: int, launches: int, noise: float, steps: dict[int, float]) -> Any:
    """Launch medians around 10 us; case i is slower by the share `steps[i]`. Shape (cases, launches)."""
    factors = np.array([1 + steps.get(case, 0.0) for case in range(cases)])[:, None]
    return 10e-6 * factors * np.exp(random.normal(0, noise, (cases, launches)))
