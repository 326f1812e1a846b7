"""Published R_max: as printed, and speedups and ratios of networks held against a run of known truth."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.statistics.summary import Summary
from tests.messages import numbers
from tests.models.curves import noisy, summary
from tests.models.published import reproduced


def measured(rate: float, ranks: int, transport: str = "default", n: int = 2000, block: int = 64) -> Summary:
    random = np.random.default_rng([ranks, n, block])
    times = noisy(random, rate, spread=0.001)
    given = {"n": n, "block": block}
    return summary(times, "algorithm.linpack", "flops_per_s", "max_rank", ranks, transport, unit="flop/s", **given)


def test_all_printed_figures_are_there_and_nothing_is_made_up() -> None:
    found = reproduced("param-linpack", [])
    assert len(found) == 6 + 2 * 2 + 2
    assert all(
        row.measured is None and row.predicted is None and row.origin == "published" for row in found.values()
    )
    assert found["R_max, 8 processes, HPCC software"].published == 3.45e9
    assert found["R_max, Fast Ethernet: 4 processes / one"].published == pytest.approx(1.62 / 0.55)
    gained = found["R_max, 4 processes: HPCC software / Fast Ethernet"]
    assert gained.direction_only, "above 1, where 1.19 is printed"
    assert gained.published == pytest.approx(1.92 / 1.62)


def test_ours_is_the_best_of_all_sizes_and_blocks() -> None:
    alone = [measured(10e9, 1, n=1000), measured(12e9, 1, block=128)]
    made = {
        "paramnet": [*alone, measured(30e9, 4, "active-messages")],
        "fast-ethernet": [*alone, measured(20e9, 4, n=1000), measured(24e9, 4, block=128)],
    }
    found = reproduced("param-linpack", made)
    one = found["R_max, 1 process, Fast Ethernet"]
    assert one.measured == pytest.approx(12e9, rel=0.01)
    assert numbers(one.remark) == [5000, 2000, 1], "n as published; n and ranks here"
    assert found["R_max, 4 processes, Fast Ethernet"].measured == pytest.approx(24e9, rel=0.01)
    speedup = found["R_max, Fast Ethernet: 4 processes / one"]
    assert speedup.measured == pytest.approx(2, rel=0.01)
    gained = found["R_max, 4 processes: HPCC software / Fast Ethernet"]
    assert gained.measured == pytest.approx(30 / 24, rel=0.01)
    assert found["R_max, 8 processes: HPCC software / Fast Ethernet"].measured is None
