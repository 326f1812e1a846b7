"""The MPI library's own collectives in a simulation: by the rules of its version, where the collectives know them.

What SMPI 3.32 itself has for Open MPI takes half of the time for a broadcast of 256 KiB on 16 hosts of a switch.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from hpcscope.launch import preload
from hpcscope.machine.machine import MpiInstallation
from hpcscope.rundirectory import write_text
from hpcscope.simulation.platform import CLUSTER
from hpcscope.topology import topology as topologies
from hpcscope.topology.topology import Group, Topology

ANYWHERE = ("broadcast",)
"""Operations by the rules of every library."""
FLAT = preload.OPERATIONS
"""Operations by the rules of Open MPI, as long as it does not look at hosts."""


def rules_of(library: str, mpi: MpiInstallation | None) -> str | None:
    """Return the name that the collectives have for the rules of a library; None where they do not know any.

    `mpi` is the library of the run, whose version counts where it is that library.
    """
    if library != "openmpi":
        return library if library == "mpich" else None
    old = mpi is not None and mpi.name == library and mpi.version.startswith("4.")
    return "openmpi4" if old else "openmpi5"


def operations(rules: str, hosts: Sequence[str]) -> Sequence[str]:
    """Return the operations that are simulated by the rules of a library; `hosts`: of each rank.

    Where several hosts have several ranks, Open MPI 5 first communicates between the hosts; the rules for that are
    known for its broadcast only.
    """
    ranks_of = Counter(hosts)
    by_hosts = len(ranks_of) > 1 and max(ranks_of.values()) > 1
    if rules == "mpich" or (rules == "openmpi5" and by_hosts):
        return ANYWHERE
    return FLAT


def environment(rules: str, hosts: Sequence[str], file: Path) -> Mapping[str, str]:
    """Return what the ranks find in their environment; writes a topology file that says which hosts there are.

    Neither library looks at links: all hosts are in one group there.
    """
    group = Group(
        name=CLUSTER, level="cluster", hosts=list(dict.fromkeys(hosts)), latency_s=1e-6, bandwidth_bytes_per_s=1e9
    )
    write_text(file, topologies.write(Topology(origin="simulated", group=[group])))
    return preload.by_rules(rules, operations(rules, hosts), file)
