"""Which hosts of a cluster are alike: the types of node that it is made of."""

from collections.abc import Sequence

from hpcscope.machine.machine import Host

MEMORY_TOLERANCE = 0.05
"""Equal nodes differ slightly in the memory that firmware and kernel reserve."""


def node_types(hosts: Sequence[Host]) -> list[list[int]]:
    """Return the positions of the hosts of each type, types in the order of their first host."""
    types: list[list[int]] = []
    for position, host in enumerate(hosts):
        mine = next((members for members in types if alike(host, hosts[members[0]])), None)
        if mine is None:
            types.append([position])
        else:
            mine.append(position)
    return types


def alike(host: Host, other: Host) -> bool:
    """Return whether two hosts have the same processors, caches, memory and devices."""
    larger = max(host.memory_bytes, other.memory_bytes, 1)
    return _identity(host) == _identity(other) and (
        abs(host.memory_bytes - other.memory_bytes) <= MEMORY_TOLERANCE * larger
    )


def _identity(host: Host) -> tuple[object, ...]:
    processor = host.processor
    caches = tuple(sorted((cache.level, cache.kind, cache.size_bytes) for cache in host.caches))
    return (
        processor.architecture,
        processor.model,
        processor.sockets,
        processor.cores,
        processor.threads,
        len(processor.usable),
        caches,
        tuple(host.accelerators),
    )
