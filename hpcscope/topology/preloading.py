"""Whether the topology-aware collectives can do what the transports of a plan ask for: checked before any launch.

The library never ends a program: it leaves whatever it cannot do to the MPI library. A sample that names an
algorithm must have run it, so this is checked first.
"""

import logging
from collections.abc import Sequence

from hpcscope.build import collectives
from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch.cluster import Cluster
from hpcscope.launch.preload import TRANSPORT
from hpcscope.plan.plan import Launch
from hpcscope.topology.estimate import LIMIT, estimate

ANY_SIZE = 1024

logger = logging.getLogger(__name__)


def check(launches: Sequence[Launch], cluster: Cluster) -> None:
    """Compile the library if a launch needs it; UsageError names what the topology does not allow."""
    wanted = [launch for launch in launches if launch.transport.split(".")[0] == TRANSPORT]
    if not wanted:
        return
    mpi, topology = cluster.site.mpi, cluster.site.topology
    if topology is None:
        raise UsageError(
            f"transport = {wanted[0].transport}: needs a topology; --topology FILE names one"
            " (scope topology discover)"
        )
    if collectives.built(mpi) is None:
        logger.info("compiling the collectives for %s %s ...", mpi.name, mpi.version)
    estimator = collectives.build(mpi).estimator
    asked = {(launch.transport, hosts_of(launch, cluster), size) for launch in wanted for size in _sizes(launch)}
    for transport, hosts, message_bytes in sorted(asked):
        _, *choice = transport.split(".")
        operation, algorithm = choice or ("broadcast", None)
        try:
            known = estimate(estimator, topology, operation, message_bytes, hosts)
        except ScopeError as error:
            raise UsageError(f"transport = {transport}: {error}") from error
        if algorithm is None:
            continue
        if len(set(hosts)) < 2:
            raise UsageError(
                f"transport = {transport}: all {len(hosts)} ranks are on {hosts[0]}, where MPI itself is used;"
                " must be on at least 2 hosts (or transport=default)"
            )
        if algorithm not in known:
            raise UsageError(
                f"transport = {transport}: no such {operation} of {message_bytes} B on {len(hosts)} ranks;"
                f" must be one of {', '.join(name for name in known if name != LIMIT)}"
            )


def hosts_of(launch: Launch, cluster: Cluster) -> tuple[str, ...]:
    """Return the host of each rank of a launch: hosts are filled in order, or take one rank each."""
    placement, place = launch.placement, cluster.place
    slots = [
        (cluster.hosts[position].name, 1 if placement.one_per_host else place.slots[position])
        for position in place.members(placement.group)
    ]
    filled = [name for name, count in slots for _ in range(count)]
    # If there are more ranks than slots, the further ranks start again with the first host.
    return tuple(filled[rank % len(filled)] for rank in range(launch.ranks))


def _sizes(launch: Launch) -> set[int]:
    """Return the message sizes of the cases of a launch; a representative size for cases without one."""
    return {int(case.parameters.get("message_bytes", ANY_SIZE)) for case in launch.cases}
