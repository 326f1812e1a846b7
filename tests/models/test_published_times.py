"""Published computation and communication: as printed, and held against a run of known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpcscope.statistics.summary import Summary
from tests.models.curves import noisy, summary
from tests.models.published import reproduced

RANKS = (1, 2, 4, 8)


def measured(kernel: str, ranks: int, place: str, problem: str, **seconds: float) -> list[Summary]:
    random = np.random.default_rng([ranks, len(place)])
    given: dict[str, Any] = {"class": problem, "variant": "plain"}
    return [
        summary(
            noisy(random, value, spread=0.0001),
            f"application.npb_{kernel}",
            metric,
            "max_rank" if metric == "time_s" else "observed",
            ranks,
            unit="Mop/s" if metric == "mops_per_s" else "s",
            **given,
        )
        for metric, value in seconds.items()
    ]


def runs(kernel: str, problem: str, slower: float) -> dict[str, list[Summary]]:
    """BT's operations; 24 s of computation in all, a tenth more on 8; messages of 1 s, `slower` on Ethernet."""
    made: dict[str, list[Summary]] = {"myrinet": [], "ethernet": []}
    for ranks in RANKS:
        compute = 24 / ranks * (1.1 if ranks == 8 else 1)
        for place, factor in (("myrinet", 1.0), ("ethernet", slower)):
            messages = {"communicate_s": 0.6 * factor, "idle_s": 0.4 * factor}
            time = compute + factor
            rate = 168275.6 / time
            made[place] += measured(
                kernel, ranks, place, problem, time_s=time, mops_per_s=rate, compute_s=compute, **messages
            )
    return made


def test_all_printed_figures_are_there_and_nothing_is_made_up() -> None:
    found = reproduced("netfinity-nas", [])
    assert len(found) == 4 + 4 + 4
    assert all(row.measured is None and row.origin == "published" for row in found.values())
    assert all(row.remark for row in found.values()), "why nothing is beside them"
    assert found["BT, operations, 10^6"].published == 168275.6
    assert found["LU, a0 of computation a0/p"].published == 934.971
    assert found["LU, communication, Ethernet / Myrinet, 8 processes"].published == pytest.approx(
        38.73 / 166.20, rel=1e-3
    )


def test_ours_are_the_law_of_computation_and_the_ratio_of_networks() -> None:
    found = reproduced("netfinity-nas", runs("bt", "A", 7.0))
    assert found["BT, operations, 10^6"].measured == pytest.approx(168275.6, rel=1e-3)
    a0 = found["BT, a0 of computation a0/p"]
    # Three at 24 and one at 26.4, by least squares of relative deviations.
    inverse = [1 / 24, 1 / 24, 1 / 24, 1 / 26.4]
    assert a0.measured == pytest.approx(sum(inverse) / sum(each**2 for each in inverse), rel=1e-3)
    ratio = found["BT, communication, Ethernet / Myrinet"]
    assert ratio.measured == pytest.approx(7, rel=1e-3)
    assert (ratio.ranks, ratio.published, ratio.remark) == (8, 5, "ranks = 8 here")


def test_another_class_stands_in_but_for_the_operations() -> None:
    found = reproduced("netfinity-nas", runs("lu", "W", 0.25))
    assert found["LU, operations, 10^6"].measured is None
    surprise = found["LU, communication, Ethernet / Myrinet, 8 processes"]
    assert surprise.measured == pytest.approx(0.25, rel=1e-3)
    assert surprise.remark.endswith("class = W here")
