"""What is measured on a node: names, units, and what a slow value most likely means."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HealthCheck:
    """One measurement of the native program `measure/health`."""

    name: str
    label: str
    unit: str
    higher_is_better: bool
    cause: str
    """The likely cause if a node is slower than its peers in this check."""
    advice: str

    def cost(self, value: float) -> float:
        """Return a value as a cost: the reciprocal if it is a rate."""
        return 1 / value if self.higher_is_better else value


CHECKS = (
    HealthCheck(
        "memory_bandwidth",
        "memory bandwidth",
        "B/s",
        True,
        "a memory module is missing, in the wrong slot or at a lower clock",
        "compare `dmidecode -t memory` and the NUMA settings of the firmware with a healthy node",
    ),
    HealthCheck(
        "memory_latency",
        "memory latency",
        "s",
        False,
        "memory at a lower clock, or another NUMA setting in the firmware",
        "compare `dmidecode -t memory` and the NUMA settings of the firmware with a healthy node",
    ),
    HealthCheck(
        "core_arithmetic",
        "arithmetic of one core",
        "flop/s",
        True,
        "a lower clock (governor, power limit or heat), or a CPU quota",
        "look at the governor, `turbostat`, power limits and the fans",
    ),
    HealthCheck(
        "arithmetic",
        "arithmetic of all cores",
        "flop/s",
        True,
        "a lower clock under load (power limit or heat), or other processes",
        "look at `top`, power limits, temperatures and the fans",
    ),
    HealthCheck(
        "slowest_core",
        "arithmetic of the slowest core",
        "flop/s",
        True,
        "another process on one core, or a core that is throttled",
        "look at `top` and at interrupts bound to that core",
    ),
    HealthCheck(
        "undisturbed",
        "CPU time that a program gets",
        "",
        True,
        "other processes, interrupts, or a hypervisor that gives CPU time to others",
        "look at `top`, /proc/interrupts and stolen time (`vmstat`)",
    ),
    HealthCheck(
        "clock_cost",
        "time to read the clock",
        "s",
        False,
        "the kernel uses a clock source other than the time stamp counter",
        "look for `clocksource` in the kernel's messages",
    ),
    HealthCheck(
        "disk_write",
        "disk write with fsync",
        "B/s",
        True,
        "a disk that fails, is full, or serves other hosts",
        "look at `smartctl -a`, `df` and `iostat -x`",
    ),
    HealthCheck(
        "disk_read",
        "disk read",
        "B/s",
        True,
        "a disk that fails, or serves other hosts",
        "look at `smartctl -a` and `iostat -x`",
    ),
)
BY_NAME = {check.name: check for check in CHECKS}
