"""Published broadcasts and laws of growth beside figures of known truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from scope.models.fitting.model import fit_all
from scope.models.published import broadcasts as published_broadcasts
from scope.models.published import growth as published_growth
from scope.models.published.broadcasts import Broadcasts
from scope.models.published.reference import load
from scope.statistics.summary import Summary
from tests.models.curves import measured, noisy, summary

FLAT, ASYNCHRONOUS, BLOCKING, PIPELINED = (
    f"collectives.broadcast.{name}"
    for name in ("flat_binomial", "multilevel_asynchronous", "multilevel_blocking", "multilevel_pipelined")
)
BARRIER = "collectives.barrier.flat_dissemination"
MEASURED = {FLAT: 44.0, ASYNCHRONOUS: 7.1, BLOCKING: 6.0, PIPELINED: 5.1, "default": 30.0}


def test_ratios_of_the_published_are_held_against_ours() -> None:
    known = Broadcasts(24, 4_000_000, "emulated", MEASURED, {FLAT: 42.5, "default": 30.4}, 5.0)
    rows = {row.row: row for row in published_broadcasts.rows(load("grid-table2"), known)}
    flat = rows["no topology, flat binomial"]
    assert (flat.published, flat.predicted, flat.measured, flat.limit) == (448, 42.5, 44.0, 5.0)
    assert flat.origin == "emulated"
    assert "published: 40 MB" in flat.remark
    ratio = rows["no topology, flat binomial over multilevel, locally optimized"]
    assert ratio.published == pytest.approx(448 / 60)
    assert ratio.measured == pytest.approx(44 / 6)
    assert ratio.predicted is None, "the other was not estimated"
    ours = rows["multilevel, pipelined over the limit"]
    assert (ours.measured, ours.limit) == (pytest.approx(1.02), 1.0)
    assert rows["the MPI library's own"].published is None


def test_what_was_not_measured_is_said() -> None:
    known = Broadcasts(24, 4_000_000, "emulated", {}, {}, None)
    for row in published_broadcasts.rows(load("grid-table2"), known):
        assert row.measured is None
        assert row.origin == "published"
        assert row.remark


def test_the_largest_broadcast_of_a_run_is_taken() -> None:
    random = np.random.default_rng(1)

    def one(ranks: int, message_bytes: int, transport: str) -> Summary:
        times = noisy(random, 1e-3)
        return summary(times, "mpi.broadcast", "time_s", "global", ranks, transport, message_bytes=message_bytes)

    everything = [one(4, 100, "default"), one(24, 100, "default"), one(24, 1000, "default"), one(24, 1000, FLAT)]
    found = published_broadcasts.measured(everything)
    assert {name: s.parameters["message_bytes"] for name, s in found.items()} == {"default": 1000, FLAT: 1000}
    assert published_broadcasts.measured([]) == {}


@pytest.mark.parametrize(
    ("name", "printed_s"),
    [("scope-shared-bus", 1.34e-3), ("scope-switched", 0.6e-3)],
)
@pytest.mark.parametrize(
    ("law", "steps"), [("linear", lambda p: p), ("logarithmic", lambda p: int(p - 1).bit_length())]
)
def test_the_law_that_the_models_choose_is_told(
    name: str, printed_s: float, law: str, steps: Callable[[int], int]
) -> None:
    """Both sources print a barrier that grows logarithmically, on the shared bus too, and the cost of its step."""
    random = np.random.default_rng(3)
    made = [
        summary(noisy(random, 1e-4 + 1e-3 * steps(p)), "mpi.barrier", "time_s", "global", p, BARRIER)
        for p in range(2, 13)
    ]
    rows = published_growth.rows(load(name), fit_all(measured(made))[0], "emulated")
    ratio, step = (row for row in rows if row.row.startswith("barrier"))
    assert ratio.row == "barrier: 12 over 6 processes"
    assert ratio.published is None, "no such ratio is printed"
    agrees = "as published" if law == "logarithmic" else "published: logarithmic"
    assert ratio.remark == f"chosen: {law} in the processes, {agrees}"
    assert step.published == printed_s
    if law == "logarithmic":
        assert step.measured == pytest.approx(1e-3, rel=0.1)
