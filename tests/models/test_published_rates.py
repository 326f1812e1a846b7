"""Published rates of applications: as printed, and ratios of networks held against a run of known truth."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.statistics.summary import Summary
from tests.messages import mentions
from tests.models.curves import noisy, summary
from tests.models.published import reproduced


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


def test_all_printed_rates_are_there_and_nothing_is_made_up() -> None:
    found = reproduced("param-nas", [])
    assert len(found) == 8 * 3 + 8
    assert all(
        row.measured is None and row.predicted is None and row.origin == "published" for row in found.values()
    )
    assert found["MG A, 8 processes, HPCC software"].published == 584.32
    assert found["SP B, 9 processes, HPCC software"].published == 178.91
    gained = found["CG A, 8 processes, HPCC software / Fast Ethernet"]
    assert gained.published == pytest.approx(165.15 / 93.57)


def test_ours_are_of_the_published_class_or_of_the_nearest_run() -> None:
    made = {
        place: [
            measured(faster * rate, "ft", ranks, transport, "W")
            for ranks, rate in ((2, 100.0), (4, 160.0), (16, 500.0))
        ]
        for place, transport, faster in (("fast-ethernet", "default", 1), ("paramnet", "active-messages", 2))
    }
    found = reproduced("param-nas", made)
    ethernet = found["FT A, 8 processes, Fast Ethernet"]
    assert ethernet.measured == pytest.approx(160, rel=0.01), "16 processes are more than were published"
    assert mentions(ethernet.remark, "class = W ... ranks = 4")
    gained = found["FT A, 8 processes, HPCC software / Fast Ethernet"]
    assert (gained.measured, gained.ranks) == (pytest.approx(2, rel=0.01), 4)
    made["paramnet"].append(measured(900.0, "ft", 8, "active-messages", "A"))
    exact = reproduced("param-nas", made)
    assert exact["FT A, 8 processes, HPCC software"].remark == ""
    # The networks were then not measured alike.
    assert exact["FT A, 8 processes, HPCC software / Fast Ethernet"].measured is None
    assert mentions(exact["FT B, 8 processes, HPCC software"].remark, "class = A")


def flow(rate: float, benchmark: str, ranks: int, transport: str = "active-messages") -> Summary:
    random = np.random.default_rng([ranks, len(transport)])
    return summary(
        noisy(random, rate, spread=0.001), benchmark, "flops_per_s", "max_rank", ranks, transport, unit="flop/s"
    )


def test_shares_of_the_peak_are_those_of_the_most_processes_and_of_the_fastest_case() -> None:
    made = [
        flow(10e9, "node.peak", 1, "default"),
        flow(2e9, "application.cfd", 1, "default"),
        flow(3e9, "application.cfd", 2),
        flow(5e9, "application.cfd", 4),
        flow(6e9, "application.cfd", 4),
        flow(9e9, "application.cfd", 16),
    ]
    found = reproduced("param-cfd", {"paramnet": made})
    share = found["CFD, 8 processes, HPCC software, fraction of the peak"]
    assert share.published == pytest.approx(900 / 6400, rel=1e-3)
    assert share.measured == pytest.approx(6 / 40, rel=0.01)
    assert (share.ranks, share.limit) == (4, 1)
    assert mentions(share.remark, "ranks = 4")
    rate = found["CFD, 8 processes, HPCC software"]
    assert (rate.published, rate.measured, rate.ranks) == (900e6, pytest.approx(6e9, rel=0.01), 4)
    alone = reproduced("param-cfd", {"paramnet": made[:1]})["CFD, 8 processes, HPCC software"]
    assert (alone.measured, alone.origin) == (None, "published")


def test_figure_12_has_every_benchmark_of_the_source() -> None:
    found = reproduced("param-figure12", [])
    assert len(found) == 3 + 2 + 2 * 8 + 1 + 7, "shares, and relations among them"
    assert found["LINPACK, 8 processes, HPCC software, fraction of the peak"].published == 0.53
    assert found["ScaLAPACK band LU, 8 processes, HPCC software, fraction of the peak"].published == 0.39
    assert all(row.measured is None and row.published is not None for row in found.values())
