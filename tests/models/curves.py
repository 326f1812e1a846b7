"""Summaries with known truth, made without a run directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scope.samples.records import Work
from scope.statistics.figures import describe
from scope.statistics.summary import Summary


def summary(
    times: Sequence[np.ndarray],
    benchmark: str = "mpi.latency",
    metric: str = "latency_s",
    definition: str = "half_round_trip",
    ranks: int = 2,
    transport: str = "default",
    work_bytes: float = 0.0,
    unit: str = "s",
    **parameters: Any,
) -> Summary:
    return Summary.model_validate(
        {
            "benchmark": benchmark,
            "parameters": parameters,
            "ranks": ranks,
            "transport": transport,
            "placement": "core",
            "metric": metric,
            "unit": unit,
            "better": "lower" if unit == "s" else "higher",
            "definition": definition,
            "primary": True,
            "origin": "measured",
            "valid": True,
            "reason": "",
            "work": Work(bytes=work_bytes, flops=0.0, messages=1.0),
            "invalid_share": 0.0,
            "tight_share": 1.0,
            **describe(list(times)).as_dict(),
        }
    )


def noisy(
    random: np.random.Generator, truth: float, launches: int = 6, samples: int = 15, spread: float = 0.01
) -> list[np.ndarray]:
    """Times of each launch: a lognormal level of the launch, and lognormal noise within it; the median is true."""
    levels = random.normal(0, spread, launches)
    return [truth * np.exp(level + random.normal(0, 2 * spread, samples)) for level in levels]
