"""Soaks: an injected leak and drift are found with their size, a healthy program raises no alarm."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope import units
from hpcscope.findings.campaign import CampaignFacts, find_all
from hpcscope.programs.campaign.analysis import analyse
from hpcscope.programs.campaign.folder import Head, head_of
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.campaign.soak import Endurance, endurance, exact_share
from hpcscope.programs.campaign.study import made
from hpcscope.programs.campaign.trend import trend
from tests.campaign.records import record
from tests.findings.evidence import evident

LEAK = 2e6
"""Bytes per second."""


def soak(
    runs: int = 30, leak: float = 0.0, drift: float = 0.0, residue: float = 0.0, seed: int = 3
) -> list[RunRecord]:
    random = np.random.default_rng(seed)
    return [
        record(
            number,
            {
                "wall_s": 8.0 * (1 + drift * number / runs) * float(np.exp(random.normal(0, 0.005))),
                "peak_resident_bytes": 60e6 + residue * number + float(random.normal(0, 1e5)),
                "memory_slope_bytes_per_s": leak + float(random.normal(0, 5e3)),
                "memory_slope_worst_bytes_per_s": 1.5 * leak + 1e4,
                "memory_slope_worst_rank": 3.0,
            },
            ranks=4,
        )
        for number in range(1, runs + 1)
    ]


def head() -> Head:
    return head_of("soak", made({"program": "./app"}, "here"), ["scope", "soak"])


def codes(records: list[RunRecord]) -> list[str]:
    return [finding.code for finding in find_all(CampaignFacts(head(), analyse(head(), records)))]


def growth_of(records: list[RunRecord]) -> Endurance:
    return endurance(records)


def test_a_leak_is_found_with_its_size_and_rank() -> None:
    growth = endurance(soak(leak=LEAK)).growth
    assert growth is not None
    assert growth.bytes_per_s.low is not None
    assert growth.bytes_per_s.high is not None
    assert growth.bytes_per_s.low <= LEAK <= growth.bytes_per_s.high
    assert growth.bytes_per_s.value == pytest.approx(LEAK, rel=0.01)
    (finding,) = find_all(CampaignFacts(head(), analyse(head(), soak(leak=LEAK))))
    assert finding.code == "memory-growth"
    assert finding.where["rank"] == 3
    evident(finding, (growth.bytes_per_s.value, "B/s"), (1.5 * LEAK + 1e4, "B/s"), (30, ""))
    assert codes(soak(runs=5, leak=LEAK)) == [], "five runs give no interval"


def test_what_grows_from_run_to_run_is_found() -> None:
    records = soak(residue=0.5e6)
    assert codes(records) == ["memory-growth"]
    memory = endurance(records).memory
    assert memory is not None
    assert memory.per_hour == pytest.approx(0.5e6 * 360, rel=0.05)
    span, change = memory.shown
    assert span == f"over {units.quantity(memory.span_s, 's')}", "minutes say nothing of an hour"
    assert change.value == pytest.approx(memory.over_span)


def test_a_drift_is_found_and_healthy_programs_raise_no_alarm() -> None:
    assert codes(soak(drift=0.1)) == ["drift"]
    quiet = [codes(soak(seed=seed)) for seed in range(20)]
    assert sum(map(bool, quiet)) <= 1, quiet


def test_failures_are_counted_with_an_exact_interval() -> None:
    records = soak()
    for position, status in ((3, "failed"), (4, "failed"), (9, "wrong")):
        records[position] = records[position].model_copy(update={"status": status, "reason": f"{status} it is"})
    found = endurance(records)
    assert (found.runs, found.well, found.failed, found.wrong, found.timeouts) == (30, 27, 2, 1, 0)
    assert found.reasons == {"failed it is": 2, "wrong it is": 1}
    errors = [f for f in find_all(CampaignFacts(head(), analyse(head(), records))) if f.code.startswith("runs-")]
    assert [(f.code, f.severity) for f in errors] == [("runs-wrong", "error"), ("runs-failed", "warning")]
    # Of none among n the exact bound is 1 - 0.025^(1/n).
    none = exact_share(0, 1000)
    assert none.value == none.low == 0
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 1000))
    assert exact_share(5, 5).high == 1


def test_a_trend_holds_the_slope_and_knows_when_values_follow_each_other() -> None:
    held, alarms = 0, 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        time_s = np.arange(60.0) * 60
        follows = np.zeros(60)
        for at in range(1, 60):
            follows[at] = 0.5 * follows[at - 1] + random.normal(0, 0.01)
        sloped = trend("x", "s", time_s, 1 + time_s * 1e-4 + follows)
        flat = trend("x", "s", time_s, 1 + follows)
        assert sloped is not None
        assert flat is not None
        held += sloped.low <= 0.36 <= sloped.high
        alarms += flat.certain
    assert held >= 35
    assert alarms <= 5
    assert trend("x", "s", np.arange(5.0), np.ones(5)) is None


def test_a_day_of_runs_is_no_burden() -> None:
    time_s = np.arange(80_000.0)
    random = np.random.default_rng(1)
    found = trend("x", "s", time_s, 1 + time_s * 1e-6 + random.normal(0, 0.01, time_s.size))
    assert found is not None
    assert found.points == 80_000
    assert found.low <= 3.6e-3 <= found.high
    assert found.span_s == pytest.approx(79_999)
