"""The minimum configuration of the baseline module: what a cluster needs to run all of its cases.

After the thesis, section 8.1 and table 8.1 (at least four nodes with 32 MB each, a network of 10 Mbit/s): four
ranks, on two hosts for the inter-node cases, and memory for today's largest arrays. Every processor since then
exceeds the table's cache and SPEC rates.
"""

from collections.abc import Sequence

from hpcscope import units
from hpcscope.machine.machine import Host
from hpcscope.rundirectory import Lack

HOSTS = 2
SLOTS = 4
MEMORY_BYTES = 2_000_000_000
"""Memory of each host: four ranks with three arrays of 64 MiB each, and the rest of the system."""
LINK_BITS_PER_S = 10_000_000


def lacks(hosts: Sequence[Host], slots: int) -> list[Lack]:
    """Return what hosts with this many slots in total lack of the minimum configuration."""
    found: list[Lack] = []
    if len(hosts) < HOSTS:
        found.append(Lack(resource="hosts", needed=str(HOSTS), found=str(len(hosts))))
    if slots < SLOTS:
        found.append(Lack(resource="slots", needed=str(SLOTS), found=str(slots)))
    memory = min((host.memory_bytes for host in hosts), default=MEMORY_BYTES)
    if memory < MEMORY_BYTES:
        found.append(Lack(resource="memory", needed=units.printed(MEMORY_BYTES), found=units.printed(memory)))
    rates = [_fastest_link(host) for host in hosts]
    slowest = min((rate for rate in rates if rate is not None), default=None)
    if len(hosts) > 1 and slowest is not None and slowest < LINK_BITS_PER_S:
        needed, rate = (units.quantity(text, "bit/s") for text in (LINK_BITS_PER_S, slowest))
        found.append(Lack(resource="network", needed=needed, found=rate))
    return found


def _fastest_link(host: Host) -> float | None:
    """Return the rate of a host's fastest link in bit/s; None if it is not known."""
    rates = [link.rate_bits_per_s for link in host.links if link.up and link.rate_bits_per_s is not None]
    return max(rates, default=None)
