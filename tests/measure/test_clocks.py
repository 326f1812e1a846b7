"""The clocks of ranks and hosts: injected offsets are found, and a clock that falls back says why."""

from __future__ import annotations

import pytest

from tests.measure.conftest import Measure


def test_injected_clock_offsets_and_drifts_are_found(measure: Measure) -> None:
    fault = "host-per-rank clock-skew:1:3600:2e-5 clock-skew:2:-7200:0"
    ended = measure(3, ["mpi.barrier", "mpi.broadcast message_bytes=8"], SCOPE_FAULT=fault)
    assert ended.code == 0, ended.errors
    found = ended.launch.clock_synchronization
    assert found.hosts == 3
    assert "HCA3" in found.method
    # Of offsets of hours no minute is left, however long a rank waits for its processor.
    assert 0 < found.error_s < 60
    # A start on the synchronized clock: nobody enters hours early or late.
    for case in ended.cases:
        assert case.series[0].entry_s is not None
        assert all(abs(entry) < 60 for entries in case.series[0].entry_s for entry in entries)


def test_clocks_of_one_host_are_taken_as_one_and_held_against_each_other(measure: Measure) -> None:
    found = measure(2, ["mpi.barrier"]).launch.clock_synchronization
    assert found.hosts == 1
    assert 0 <= found.error_s < 60  # 0 where both readings fall on one step of the clock
    off = measure(2, ["mpi.barrier"], SCOPE_FAULT="clock-skew:1:3600:0").launch.clock_synchronization
    assert off.error_s == pytest.approx(3600, abs=60)


def test_the_fallback_clock_measures_and_says_why(measure: Measure) -> None:
    ended = measure(2, ["mpi.latency message_bytes=8"], "--clock=clock_gettime")
    assert ended.code == 0
    assert ended.launch.clock.source == "clock_gettime"
    assert ended.launch.clock.fallback_reason
