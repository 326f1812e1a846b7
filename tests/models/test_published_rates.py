"""Published rates of applications: as printed, and ratios of networks held against a run of known truth."""

from __future__ import annotations

import numpy as np
import pytest

from scope.models.published.rates import rows
from scope.models.published.reference import load
from scope.models.published.reproduction import Row
from scope.statistics.summary import Summary
from tests.models.curves import noisy, summary


def measured(rate: float, kernel: str, ranks: int, transport: str, problem: str) -> Summary:
    random = np.random.default_rng([ranks, len(transport)])
    return summary(
        noisy(random, rate, spread=0.001),
        f"application.npb_{kernel}",
        "mops_per_s",
        "observed",
        ranks,
        transport,
        unit="Mop/s",
        **{"class": problem},
    )


def named(found: list[Row], name: str) -> Row:
    return next(row for row in found if row.row == name)


def test_all_printed_rates_are_there_and_nothing_is_made_up() -> None:
    found = rows(load("param-nas"), [])
    assert len(found) == 8 * 3 + 8
    assert all(row.measured is None and row.predicted is None and row.origin == "published" for row in found)
    assert named(found, "MG A, 8 processes, HPCC software, Mop/s").published == 584.32
    assert named(found, "SP B, 9 processes, HPCC software, Mop/s").published == 178.91
    gained = named(found, "CG A, 8 processes, HPCC software over Fast Ethernet")
    assert gained.published == pytest.approx(165.15 / 93.57)


def test_ours_are_of_the_published_class_or_of_the_nearest_run() -> None:
    made = [
        measured(rate, "ft", ranks, transport, "W")
        for ranks, rate in ((2, 100.0), (4, 160.0), (16, 500.0))
        for transport, rate in (("tcp", rate), ("default", 2 * rate))
    ]
    found = rows(load("param-nas"), made)
    ethernet = named(found, "FT A, 8 processes, Fast Ethernet, Mop/s")
    assert ethernet.measured == pytest.approx(160, rel=0.01), "16 processes are more than were published"
    assert ethernet.remark == "transport tcp, class W here, 4 processes here"
    gained = named(found, "FT A, 8 processes, HPCC software over Fast Ethernet")
    assert (gained.measured, gained.ranks) == (pytest.approx(2, rel=0.01), 4)
    exact = rows(load("param-nas"), [*made, measured(900.0, "ft", 8, "default", "A")])
    assert named(exact, "FT A, 8 processes, HPCC software, Mop/s").remark == "transport default"
    # The networks were then not measured alike.
    assert named(exact, "FT A, 8 processes, HPCC software over Fast Ethernet").measured is None
    assert named(exact, "FT B, 8 processes, HPCC software, Mop/s").remark == "transport default, class A here"
