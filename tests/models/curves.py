"""Summaries with known truth, made without a run directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hpcscope.machine.machine import Machine
from hpcscope.models.measurements import Measurements
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import LaunchRecord, Work
from hpcscope.statistics.figures import describe
from hpcscope.statistics.summary import Summary
from tests import golden_run
from tests.declared import catalog


def summary(
    times: Sequence[np.ndarray],
    benchmark: str = "mpi.latency",
    metric: str = "latency_s",
    definition: str = "half_round_trip",
    ranks: int = 2,
    transport: str = "default",
    work_bytes: float = 0.0,
    unit: str = "s",
    numbers: Sequence[int] = (),
    placement: Placement = Placement(),
    **parameters: Any,
) -> Summary:
    """`numbers`: of the launches in their run; without them a case shares its launches with no other."""
    case = Case.of(catalog(), benchmark, parameters, (ranks, transport, placement))
    return Summary.model_validate(
        case.model_dump()
        | {
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
            **describe(list(times), numbers=numbers).as_dict(),
        }
    )


def noisy(
    random: np.random.Generator, truth: float, launches: int = 6, samples: int = 15, spread: float = 0.01
) -> list[np.ndarray]:
    """Times of each launch: a lognormal level of the launch, and lognormal noise within it; the median is true."""
    levels = random.normal(0, spread, launches)
    return [truth * np.exp(level + random.normal(0, 2 * spread, samples)) for level in levels]


def measured(
    summaries: Sequence[Summary], launches: Sequence[LaunchRecord] = (), machine: Machine | None = None
) -> Measurements:
    """Everything that models are derived from; the machine is that of the golden run."""
    known = machine or Machine.model_validate(golden_run.machine())
    return Measurements(list(summaries), known, list(launches), catalog())
