"""Ladders of a made-up device whose limits and rates are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hpcscope.machine.machine import Device, Machine, PcieLink
from hpcscope.models.ladder.devices import device_ladders
from hpcscope.models.ladder.rung import Ladder
from hpcscope.samples.records import LaunchRecord
from hpcscope.statistics.summary import Summary
from tests import golden_run as golden
from tests.made_up_device import GPU, LINK
from tests.models.curves import measured, noisy, summary

MIB = 1 << 20


def of(benchmark: str, metric: str, rate: float, **parameters: Any) -> Summary:
    """A rate whose median over six launches is about the true one."""
    rates = noisy(np.random.default_rng(5), rate, spread=0.002)
    return summary(rates, benchmark, metric, "max_rank", ranks=1, unit="B/s", **parameters)


def stream(metric: str, rate: float, mebibytes: int, kernel: str = "triad", device: int = 0) -> Summary:
    return of("device.stream", metric, rate, kernel=kernel, device=device, array_bytes=mebibytes * MIB)


def transfer(direction: str, memory: str, rate: float, mebibytes: int = 64) -> Summary:
    return of(
        "device.transfer",
        "bandwidth_bytes_per_s",
        rate,
        direction=direction,
        memory=memory,
        device=0,
        transfer_bytes=mebibytes * MIB,
    )


STREAMS = [
    stream("device_bandwidth_bytes_per_s", 3.0e12, 256),
    stream("bandwidth_bytes_per_s", 2.9e12, 256),
    stream("device_bandwidth_bytes_per_s", 9.0e12, 1),
    stream("bandwidth_bytes_per_s", 0.2e12, 1),
    stream("device_bandwidth_bytes_per_s", 3.3e12, 256, kernel="dot"),
]
TRANSFERS = [
    transfer("to_device", "pinned", 56e9),
    transfer("to_device", "pinned", 2e9, mebibytes=1),
    transfer("to_device", "pageable", 14e9),
    transfer("to_host", "pinned", 50e9),
    transfer("both", "pinned", 90e9),
]


def messages(memory: str, rate: float, message_bytes: int = MIB) -> Summary:
    rates = noisy(np.random.default_rng(7), rate, spread=0.002)
    chosen = {"sender_memory": memory, "receiver_memory": memory, "message_bytes": message_bytes}
    return summary(rates, "mpi.bandwidth", "bandwidth_bytes_per_s", "local", unit="B/s", **chosen)


def ladders(summaries: Sequence[Summary], devices: Sequence[Device] = (GPU,), hosts: int = 1) -> dict[str, Ladder]:
    described = golden.machine()
    first = described["hosts"][0]
    listed = [device.model_dump() for device in devices]
    described["hosts"] = [dict(first, name=name, devices=listed) for name in [first["name"], "other"][:hosts]]
    machine = Machine.model_validate(described)
    launches = [LaunchRecord.model_validate(golden.launch_record(n, n, "default", 0.0)) for n in (1, 2)]
    return {each.path: each for each in device_ladders(measured(summaries, launches, machine))}


def test_memory_from_its_width_and_clock_to_what_a_program_waits_for() -> None:
    (ladder,) = ladders(STREAMS).values()
    assert ladder.path == "memory of Accelerator 9000"
    limit, kernel, program = ladder.rungs
    assert (limit.layer, limit.value) == ("limit", 3.35e12)
    assert kernel.value == pytest.approx(3.0e12, rel=0.01)
    assert "device-clock" in kernel.note
    assert "256 MiB" in kernel.name
    assert kernel.of_limit == kernel.retained == pytest.approx(3.0 / 3.35, rel=0.01)
    assert program.retained == pytest.approx(2.9 / 3.0, rel=0.01)
    assert program.of_limit == pytest.approx(2.9 / 3.35, rel=0.01)


@pytest.mark.parametrize(
    ("launches", "words"), [((1, 2), "bandwidth"), ((3, 4), "bandwidth; measured in other launches")]
)
def test_two_clocks_of_one_launch_are_not_other_launches(launches: tuple[int, ...], words: str) -> None:
    """Two common launches give no paired interval, and are common all the same."""
    at = {"kernel": "triad", "device": 0, "array_bytes": 256 * MIB}
    rates = [np.full(5, 3e12)] * 2
    two = [
        summary(rates, "device.stream", metric, "max_rank", ranks=1, unit="B/s", numbers=numbers, **at)
        for metric, numbers in (("device_bandwidth_bytes_per_s", (1, 2)), ("bandwidth_bytes_per_s", launches))
    ]
    (ladder,) = ladders(two).values()
    assert ladder.rungs[2].note.startswith(words)
    assert ("other launches" in ladder.rungs[2].note) == ("other launches" in words)


def test_each_direction_of_the_link_has_pinned_memory_below_pageable() -> None:
    found = ladders(TRANSFERS)
    assert list(found) == [
        "host link of Accelerator 9000, to the device",
        "host link of Accelerator 9000, to the host",
    ]
    limit, pinned, pageable = found["host link of Accelerator 9000, to the device"].rungs
    assert limit.value == pytest.approx(32e9 * 16 / 8 * 128 / 130)
    assert limit.name == "PCIe, 16 lanes of 32 GT/s"
    assert pinned.retained == pytest.approx(56e9 / 63.02e9, rel=0.01)
    assert pageable.retained == pytest.approx(14 / 56, rel=0.01)
    _, alone = found["host link of Accelerator 9000, to the host"].rungs
    assert alone.retained == pytest.approx(50e9 / 63.02e9, rel=0.01)


@pytest.mark.parametrize(
    ("transfers_per_s", "gigabytes_per_s"),
    [(2.5e9, 4), (5e9, 8), (8e9, 15.75), (16e9, 31.51), (64e9, 118.0)],
)
def test_the_rate_of_a_link_is_without_its_line_code(transfers_per_s: float, gigabytes_per_s: float) -> None:
    link = PcieLink(transfers_per_s=transfers_per_s, lanes=16, most_lanes=16)
    assert link.bytes_per_s / 1e9 == pytest.approx(gigabytes_per_s, rel=1e-3)


def test_a_narrow_link_says_so() -> None:
    narrow = GPU.model_copy(update={"link": LINK.model_copy(update={"lanes": 8})})
    limit = ladders(TRANSFERS, [narrow])["host link of Accelerator 9000, to the device"].rungs[0]
    assert limit.note.startswith("8 of 16 lanes in use")
    assert limit.value == pytest.approx(LINK.bytes_per_s / 2)


def test_limits_that_nobody_tells_are_named_and_the_rest_stands() -> None:
    unknown = GPU.model_copy(update={"memory_bytes_per_s": None, "link": None})
    found = ladders([*STREAMS, *TRANSFERS], [unknown])
    memory, link = (found[name] for name in ("memory of Accelerator 9000", list(found)[1]))
    assert "memory rate of the device" in memory.rungs[0].reason
    assert "link" in link.rungs[0].reason
    assert [rung.retained is None for rung in memory.rungs] == [True, True, False]
    processor = unknown.model_copy(update={"kind": "cpu"})
    assert list(ladders([*STREAMS, *TRANSFERS], [processor])) == ["memory of Accelerator 9000"], "it has no link"


def test_several_devices_and_hosts_have_ladders_of_their_own() -> None:
    streams = [STREAMS[0], stream("device_bandwidth_bytes_per_s", 1.5e12, 256, device=1)]
    first, second = ladders(streams, [GPU, GPU], hosts=2).items()
    host = golden.machine()["hosts"][0]["name"]
    assert first[0] == f"memory of Accelerator 9000 (device 0) on {host}"
    assert second[0] == f"memory of Accelerator 9000 (device 1) on {host}"
    assert second[1].rungs[1].retained == pytest.approx(1.5 / 3.35, rel=0.01)


MESSAGES = [
    messages("host", 11e9),
    messages("staged", 20e9),
    messages("staged", 24e9, 16 * MIB),
    messages("device", 60e9, 16 * MIB),
    messages("device", 2e9, 1024),
]


def test_messages_between_devices_stand_on_the_slowest_link_and_that_on_the_memory() -> None:
    found = ladders([*STREAMS, *TRANSFERS, *MESSAGES])["shared memory inside a host, messages between devices"]
    memory, link, staged, direct = found.rungs
    assert [rung.layer for rung in found.rungs] == ["limit", "device", "mpi", "mpi"]
    assert memory.value == pytest.approx(3.0e12, rel=0.01)
    assert link.value == pytest.approx(50e9, rel=0.01)
    assert "to the host" in link.name
    assert "16 MiB" in staged.name
    assert "staged" in staged.name
    assert staged.retained == pytest.approx(24 / 50, rel=0.01)
    assert direct.retained == pytest.approx(60 / 50, rel=0.01)
    assert direct.of_limit == pytest.approx(60e9 / 3.0e12, rel=0.01)


def test_messages_between_devices_without_what_is_below_say_what_was_not_measured() -> None:
    (alone,) = ladders(MESSAGES[:3]).values()
    memory, link, staged = alone.rungs
    assert "device.stream was not measured" in memory.reason
    assert "device.transfer was not measured" in link.reason
    assert staged.value == pytest.approx(24e9, rel=0.01)
    assert staged.retained is None
    assert "shared memory inside a host, messages between devices" not in ladders([*STREAMS, MESSAGES[0]])
