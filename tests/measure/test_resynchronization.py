"""No rank times anything while another one fills, digests or checks: with a rank that is slow at it."""

from __future__ import annotations

import pytest

from hpcscope.build import registry
from hpcscope.machine.machine import NativeBuild
from tests.measure.conftest import Measure
from tests.measure.test_native import all_are_right

SLOW = "slow-check:1:0.001"


MORE = pytest.mark.slow("every benchmark again; there, two ranks have every exchange that its initiator times")


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=MORE)])
def test_no_check_overlaps_a_timed_interval_of_another_rank(
    measure: Measure, ranks: int, embedded_build: NativeBuild
) -> None:
    """Run every benchmark; each is right, too."""
    all_are_right(measure(ranks, SCOPE_FAULT=SLOW), registry.load(embedded_build.program))


def test_the_test_itself_notices_an_overlap(measure: Measure) -> None:
    # So slow that no machine delays the other rank as long in every repetition. Nothing of a round trip is
    # collected, which would make the ranks wait for each other. One this long follows no untimed one.
    fault = "slow-check:1:0.1 no-resynchronization"
    ended = measure(2, ["mpi.latency message_bytes=4194304"], SCOPE_FAULT=fault)
    (case,) = ended.cases
    assert case.status == "failed"
    assert "checked its data" in case.reason


def test_ranks_that_did_not_start_together_do_not_count(measure: Measure) -> None:
    """A rank that loses its processor after its last look at the clock, in every third repetition."""
    sampling = "sampling.minimum_repetitions=30 sampling.maximum_repetitions=30 sampling.synchronization=window"
    plan = [f"mpi.broadcast message_bytes=8 {sampling}"]
    ended = measure(2, plan, action="run", SCOPE_FAULT="late-entry:1:0.02")
    (case,) = ended.cases
    isolated = case.series[0]
    assert isolated.cadence == "isolated"
    apart = [max(entries) - min(entries) > 0.01 for entries in zip(*isolated.entry_s, strict=True)]
    assert sum(apart) >= 9
    assert [valid for valid, far in zip(isolated.valid, apart, strict=True) if far] == [False] * sum(apart)
