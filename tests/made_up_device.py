"""A device that is nowhere, with the facts that a driver would tell."""

from __future__ import annotations

from hpcscope.machine.machine import Device, PcieLink

LINK = PcieLink(transfers_per_s=32e9, lanes=16, most_lanes=16)
GPU = Device(
    name="Accelerator 9000",
    kind="gpu",
    driver="CUDA 12.4",
    memory_bytes=80_000_000_000,
    compute_units=132,
    pci_address="0000:17:00.0",
    numa_node=0,
    memory_bytes_per_s=3.35e12,
    link=LINK,
)
