"""Published computation and communication: as printed, and held against a run of known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scope.models.published.reference import load
from scope.models.published.reproduction import Row
from scope.models.published.times import rows
from scope.statistics.summary import Summary
from tests.models.curves import noisy, summary

RANKS = (1, 2, 4, 8)


def measured(kernel: str, ranks: int, transport: str, problem: str, **seconds: float) -> list[Summary]:
    random = np.random.default_rng([ranks, len(transport)])
    given: dict[str, Any] = {"class": problem, "variant": "plain"}
    return [
        summary(
            noisy(random, value, spread=0.0001),
            f"application.npb_{kernel}",
            metric,
            "max_rank" if metric == "time_s" else "observed",
            ranks,
            transport,
            unit="Mop/s" if metric == "mops_per_s" else "s",
            **given,
        )
        for metric, value in seconds.items()
    ]


def run(kernel: str, problem: str, slower: float) -> list[Summary]:
    """BT's operations; 24 s of computation in all, a tenth more on 8; messages of 1 s, and `slower` over TCP."""
    made = []
    for ranks in RANKS:
        compute = 24 / ranks * (1.1 if ranks == 8 else 1)
        for transport, factor in (("default", 1.0), ("tcp", slower)):
            messages = {"communicate_s": 0.6 * factor, "idle_s": 0.4 * factor}
            time = compute + factor
            rate = 168275.6 / time
            made += measured(
                kernel, ranks, transport, problem, time_s=time, mops_per_s=rate, compute_s=compute, **messages
            )
    return made


def named(found: list[Row], name: str) -> Row:
    return next(row for row in found if row.row == name)


def test_all_printed_figures_are_there_and_nothing_is_made_up() -> None:
    found = rows(load("netfinity-nas"), [])
    assert len(found) == 4 + 2 * 4 + 3 + 2
    assert all(row.measured is None and row.origin == "published" for row in found)
    assert all(row.remark for row in found), "why nothing is beside them"
    assert named(found, "BT, operations, 10^6").published == 168275.6
    assert named(found, "LU, a0 of computation a0/p").published == 934.971
    assert named(found, "LU, communication, Ethernet over Myrinet, 8 processes").published == pytest.approx(
        38.73 / 166.20, rel=1e-3
    )


def test_ours_are_the_law_of_computation_and_the_ratio_of_networks() -> None:
    found = rows(load("netfinity-nas"), run("bt", "A", 7.0))
    assert named(found, "BT, operations, 10^6").measured == pytest.approx(168275.6, rel=1e-3)
    a0 = named(found, "BT, a0 of computation a0/p")
    # Three at 24 and one at 26.4, by least squares of relative deviations.
    inverse = [1 / 24, 1 / 24, 1 / 24, 1 / 26.4]
    assert a0.measured == pytest.approx(sum(inverse) / sum(each**2 for each in inverse), rel=1e-3)
    off = named(found, "BT, a0 of computation a0/p, largest deviation from a0/p")
    assert off.measured == pytest.approx(26.4 / (a0.measured or 1) - 1, rel=0.02)
    for ranks in RANKS[1:]:
        ratio = named(found, f"BT, communication, Ethernet over Myrinet, {ranks} processes")
        assert ratio.measured == pytest.approx(7, rel=1e-3)
        assert (ratio.ranks, ratio.published) == (ranks, 5)


def test_another_class_stands_in_but_for_the_operations() -> None:
    found = rows(load("netfinity-nas"), run("lu", "W", 0.25))
    assert named(found, "LU, operations, 10^6").measured is None
    surprise = named(found, "LU, communication, Ethernet over Myrinet, 8 processes")
    assert surprise.measured == pytest.approx(0.25, rel=1e-3)
    assert surprise.remark.endswith("class W here")
    assert named(found, "LU, communication, Ethernet over Myrinet, here, 2 processes").published is None
