"""The knee of memory swapping: by how much a case is slower for each unit of work than a smaller one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hpcscope.findings.results import Run
from hpcscope.findings.run.node import memory_swapped
from hpcscope.plan.case import Case
from tests.declared import catalog
from tests.findings.kinds.measurement import disturbed
from tests.models.curves import noisy, summary


@pytest.mark.parametrize(
    ("benchmark", "metric", "unit", "size", "figures", "lost"),
    [
        ("node.memory_copy", "bandwidth_bytes_per_s", "B/s", "array_bytes", (8e9, 2e9), 0.75),
        ("node.memory_latency", "access_s", "s", "array_bytes", (1e-7, 4e-7), 0.75),
        ("algorithm.sort_psrs", "time_s", "s", "n", (1.0, 64.0), None),
    ],
)
def test_only_figures_per_unit_of_work_show_a_knee(
    benchmark: str,
    metric: str,
    unit: str,
    size: str,
    figures: tuple[float, float],
    lost: float | None,
    healthy_run: Run,
) -> None:
    """The sort's time grows with the number of keys, whether it swaps or not."""
    random = np.random.default_rng(3)
    both = [
        summary(noisy(random, truth), benchmark, metric, "max_rank", ranks=1, unit=unit, **{size: value})
        for truth, value in zip(figures, (1 << 20, 1 << 26), strict=True)
    ]
    case = Case.of(catalog(), benchmark, both[1].parameters, both[1].batch)
    run = disturbed(1, faults=200)(healthy_run)
    samples = replace(run.raw_samples, cases=[replace(run.raw_samples.cases[0], case=case)])
    (finding,) = memory_swapped.find(run.replaced(benchmarks=catalog(), raw_samples=samples, statistics=both))
    assert finding.lost == (None if lost is None else pytest.approx(lost, rel=0.05))
