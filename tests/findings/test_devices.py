"""Findings about devices: a link with lanes out of use, a clock that heat or a power limit lowered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.machine.machine import PcieLink
from tests.findings.faulty_runs import run_kinds, with_samples
from tests.made_up_device import GPU


def with_link(run: Run, lanes: int, most_lanes: int) -> list[Finding]:
    link = PcieLink(transfers_per_s=32e9, lanes=lanes, most_lanes=most_lanes)
    device = GPU.model_copy(update={"link": link})
    first, *others = run.machine.hosts
    hosts = [first.model_copy(update={"devices": [device, device.model_copy(update={"link": None})]}), *others]
    return run_kinds()["device_link_narrow"](run.replaced(machine=run.machine.model_copy(update={"hosts": hosts})))


def slowed(run: Run, share: float, by: str) -> list[Finding]:
    """A run with one visit in which a device was slowed for this share of it."""
    first, *others = run.raw_samples.cases
    settings = {
        "device_name": "Accelerator 9000",
        "device_slowed_by_heat_ns": 0,
        "device_slowed_by_power_ns": 0,
        f"device_slowed_by_{by}_ns": round(share * first.duration_s * 1e9),
    }
    return run_kinds()["device_slowed"](with_samples(run, cases=[*others, replace(first, settings=settings)]))


def test_lanes_out_of_use_are_found(healthy_run: Run) -> None:
    (finding,) = with_link(healthy_run, lanes=4, most_lanes=16)
    assert finding.code == "device-link-narrow"
    assert "uses 4 of the 16 lanes" in finding.title
    assert finding.lost == pytest.approx(0.75)
    rates = [evidence.value for evidence in finding.evidence if evidence.unit == "B/s"]
    assert rates == pytest.approx([15.75e9, 63.02e9], rel=1e-3)
    assert with_link(healthy_run, lanes=16, most_lanes=16) == []


@pytest.mark.parametrize(("by", "severity"), [("heat", "warning"), ("power", "information")])
def test_a_device_that_was_slowed_is_found(by: str, severity: str, healthy_run: Run) -> None:
    (finding,) = slowed(healthy_run, 0.5, by)
    assert (finding.code, finding.severity) == ("device-slowed", severity)
    assert by in finding.title.lower()
    assert "Accelerator 9000 for 50 %" in finding.title
    assert slowed(healthy_run, 0.01, by) == []


def test_a_run_without_devices_has_no_such_finding(healthy_run: Run) -> None:
    for kind in ("device_link_narrow", "device_slowed"):
        assert run_kinds()[kind](healthy_run) == []
