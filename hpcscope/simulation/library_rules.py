"""The MPI library's own collectives in a simulation, by the rules of its version if Scope's collectives know them.

SMPI 3.32's own algorithms for Open MPI take half of the time for a broadcast of 256 KiB on 16 hosts of a switch.
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
"""Operations with known rules for every library."""
FLAT = preload.OPERATIONS
"""Operations with known rules for Open MPI, as long as it does not consider hosts."""


def rules_of(library: str, mpi: MpiInstallation | None) -> str | None:
    """Return the name of the rules of a library in Scope's collectives; None if they do not know any.

    `mpi` is the library of the run, whose version counts if it is that library.
    """
    if library != "openmpi":
        return library if library == "mpich" else None
    old = mpi is not None and mpi.name == library and mpi.version.startswith("4.")
    return "openmpi4" if old else "openmpi5"


def operations(rules: str, hosts: Sequence[str]) -> Sequence[str]:
    """Return the operations that are simulated by the rules of a library; `hosts`: the host of each rank.

    If several hosts have several ranks, Open MPI 5 first communicates between the hosts; the rules for that are
    known only for its broadcast.
    """
    ranks_of = Counter(hosts)
    by_hosts = len(ranks_of) > 1 and max(ranks_of.values()) > 1
    if rules == "mpich" or (rules == "openmpi5" and by_hosts):
        return ANYWHERE
    return FLAT


def environment(rules: str, hosts: Sequence[str], file: Path) -> Mapping[str, str]:
    """Return the environment of the ranks; writes a topology file that names the hosts.

    Neither library considers links: all hosts are in one group in this file.
    """
    group = Group(
        name=CLUSTER, level="cluster", hosts=list(dict.fromkeys(hosts)), latency_s=1e-6, bandwidth_bytes_per_s=1e9
    )
    write_text(file, topologies.write(Topology(origin="simulated", group=[group])))
    return preload.by_rules(rules, operations(rules, hosts), file)
