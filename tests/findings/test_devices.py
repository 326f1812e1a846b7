"""Findings about devices, each with an injected truth, and none where the truth is healthy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hpcscope.catalog.benchmark import Value
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.machine.machine import Device, PcieLink
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.samples.samples import CaseSamples
from tests.declared import catalog
from tests.findings.faulty_runs import run_kinds, with_samples, with_summaries
from tests.made_up_device import GPU
from tests.models.curves import noisy, summary

HEALTHY: dict[str, Value] = {
    "device_name": GPU.name,
    "device_kind": "gpu",
    "device_pci_address": GPU.pci_address,
    "ranks_on_device": 1,
    "rank_numa_node": 0,
    "device_start_ms": 3200,
    "device_persistence_mode": 1,
    "device_link_generation": 5,
    "device_most_link_generation": 5,
    "device_new_corrected_errors": 0,
    "device_new_uncorrected_errors": 0,
    "device_uncorrected_errors_ever": 2,
}
"""What NVML says of a device in order, with errors of long ago."""
KINDS = [
    *("device_link_narrow", "device_link_slow", "device_slowed", "device_memory_errors"),
    *("device_persistence_off", "device_far_memory", "device_pageable_copies", "slow_device"),
]


def with_devices(run: Run, *devices: Device) -> Run:
    first, *others = run.machine.hosts
    hosts = [first.model_copy(update={"devices": list(devices)}), *others]
    return run.replaced(machine=run.machine.model_copy(update={"hosts": hosts}))


def visited(run: Run, *changes: dict[str, Value], benchmark: str = "device.transfer") -> Run:
    """Let the first visits be those to a case of a device, with these changes of what its settings say."""
    case = Case.of(catalog(), benchmark, {}, (1, "default", Placement()))
    cases = [
        replace(visit, case=case, settings={**HEALTHY, **change})
        for visit, change in zip(run.raw_samples.cases, changes, strict=False)
    ]
    return with_samples(with_devices(run, GPU), cases=cases)


def with_link(run: Run, lanes: int, most_lanes: int) -> list[Finding]:
    link = PcieLink(transfers_per_s=32e9, lanes=lanes, most_lanes=most_lanes)
    device = GPU.model_copy(update={"link": link})
    return run_kinds()["device_link_narrow"](with_devices(run, device, device.model_copy(update={"link": None})))


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


@pytest.mark.parametrize(
    ("kind", "fault", "words"),
    [
        ("device_memory_errors", {"device_new_corrected_errors": 3}, "0 uncorrected, 6 corrected"),
        ("device_memory_errors", {"device_new_uncorrected_errors": 1}, "2 uncorrected, 0 corrected"),
        ("device_persistence_off", {"device_persistence_mode": 0}, "wait 3.2 s for the driver of Accelerator"),
        ("device_far_memory", {"rank_numa_node": 1}, "is at NUMA node 0; it copied from and to memory at node 1"),
        ("device_link_slow", {"device_link_generation": 4}, "runs as PCI Express 4 although both ends can do 5"),
    ],
)
def test_what_nvml_says_of_a_device_in_disorder_is_found(
    kind: str, fault: dict[str, Value], words: str, healthy_run: Run
) -> None:
    (finding,) = run_kinds()[kind](visited(healthy_run, fault, fault))
    assert finding.code == kind.replace("_", "-")
    assert words in finding.title
    assert run_kinds()[kind](visited(healthy_run, {}, {})) == []
    assert run_kinds()[kind](visited(healthy_run, fault | {"device_kind": "cpu"})) == []


def test_what_costs_nothing_is_not_found(healthy_run: Run) -> None:
    quick = {"device_persistence_mode": 0, "device_start_ms": 300}
    assert run_kinds()["device_persistence_off"](visited(healthy_run, quick)) == []
    idle = {"device_link_generation": 1}
    assert run_kinds()["device_link_slow"](visited(healthy_run, idle, {})) == [], "one copy had the whole link"
    assert run_kinds()["device_link_slow"](visited(healthy_run, idle, benchmark="device.launch")) == []
    far = visited(healthy_run, {"rank_numa_node": 1}, benchmark="device.launch")
    assert run_kinds()["device_far_memory"](far) == []


def copies(run: Run, **rates: float) -> list[Finding]:
    made = [
        summary(
            noisy(np.random.default_rng(7), rate if mebibytes == 64 else 1e9),
            "device.transfer",
            "bandwidth_bytes_per_s",
            "max_rank",
            ranks=1,
            unit="B/s",
            direction=direction,
            memory=memory,
            device=0,
            transfer_bytes=mebibytes << 20,
        )
        for memory, rate in rates.items()
        for direction in ("to_device", "to_host")
        for mebibytes in (1, 64)
    ]
    return run_kinds()["device_pageable_copies"](with_summaries(run, made))


def test_pageable_copies_say_what_they_cost(healthy_run: Run) -> None:
    (finding,) = copies(healthy_run, pinned=55e9, pageable=11e9)
    assert finding.code == "device-pageable-copies"
    assert "64 MiB to the device take 5.0 times as long if host memory is not pinned" in finding.title
    assert finding.lost == pytest.approx(0.8, rel=0.02)
    assert copies(healthy_run, pinned=55e9, pageable=50e9) == []
    assert copies(healthy_run, pageable=11e9) == []


def on_devices(run: Run, launches: Sequence[Sequence[float]], *devices: Device) -> list[Finding]:
    """Launches on one host whose ranks have a device each, and these times by the devices' clocks."""
    first, process = run.raw_samples.launches[0], run.raw_samples.launches[0].processes[0]
    ranks = len(launches[0])
    records, cases = [], []
    for number, seconds in enumerate(launches, 1):
        processes = [process.model_copy(update={"rank": rank}) for rank in range(ranks)]
        records.append(first.model_copy(update={"launch": number, "processes": processes}))
        cases.append(on_each(run.raw_samples.cases[0], number, seconds))
    many = (devices or (GPU,)) * ranks
    return run_kinds()["slow_device"](
        with_samples(with_devices(run, *many[:ranks]), launches=records, cases=cases)
    )


def on_each(visit: CaseSamples, launch: int, seconds: Sequence[float]) -> CaseSamples:
    ranks = len(seconds)
    elapsed: Any = np.outer(seconds, np.ones(5))
    times = replace(
        visit.times[0],
        operations=np.ones(5, dtype=np.int64),
        warmup=np.zeros(5, dtype=np.bool_),
        valid=np.ones(5, dtype=np.bool_),
        ranks_kept=np.arange(ranks),
        elapsed_s=elapsed,
        entry_s=None,
        observed={"device_s": elapsed},
    )
    case = Case.of(catalog(), "device.stream", {}, (ranks, "default", Placement()))
    return replace(visit, case=case, launch=launch, attempt=1, times=[times], settings=HEALTHY)


def test_a_slow_device_among_equal_ones_is_found(healthy_run: Run) -> None:
    others = [GPU.model_copy(update={"pci_address": f"0000:{bus}:00.0"}) for bus in (17, 18, 19, 20)]
    slow = [[1.0, 1.01, 1.3, 0.99], [1.02, 1.0, 1.25, 1.01], [1.0, 1.0, 1.28, 1.0]]
    (finding,) = on_devices(healthy_run, slow, *others)
    assert finding.code == "slow-device"
    assert "0000:19:00.0" in finding.title
    assert "takes 24 % longer" in finding.title
    healthy = [[1.0, 1.01, 1.02, 0.99]] * 3
    assert on_devices(healthy_run, healthy, *others) == []
    another_each_time = [[1.3, 1, 1, 1], [1, 1.3, 1, 1], [1, 1, 1.3, 1]]
    assert on_devices(healthy_run, another_each_time, *others) == []
    unlike = [*others[:2], others[2].model_copy(update={"name": "Accelerator 100"}), others[3]]
    assert on_devices(healthy_run, slow, *unlike) == [], "it is not the same device"
    of_two = [row[1:3] for row in slow]
    assert on_devices(healthy_run, of_two, *others[1:3]) == [], "neither is the odd one"


def test_a_run_without_devices_has_no_such_finding(healthy_run: Run) -> None:
    for kind in KINDS:
        assert run_kinds()[kind](healthy_run) == []
