"""The MPI library's own broadcasts in a simulation: by the rules of its version, where the collectives know them.

What SMPI 3.32 itself has for Open MPI takes half of the time for 256 KiB on 16 hosts of a switch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scope.launch import preload
from scope.machine.machine import MpiInstallation
from scope.rundirectory import write_text
from scope.simulation.platform import CLUSTER
from scope.topology import topology as topologies
from scope.topology.topology import Group, Topology


def rules_of(library: str, mpi: MpiInstallation | None) -> str | None:
    """Return the name that the collectives have for how a library broadcasts; None where they do not know that.

    `mpi` is the library of the run, whose version counts where it is that library.
    """
    if library != "openmpi":
        return library if library == "mpich" else None
    old = mpi is not None and mpi.name == library and mpi.version.startswith("4.")
    return "openmpi4" if old else "openmpi5"


def environment(rules: str, hosts: Sequence[str], file: Path) -> dict[str, str]:
    """Return what the ranks find in their environment; writes a topology file that says which hosts there are.

    Neither library looks at links: all hosts are in one group there.
    """
    group = Group(
        name=CLUSTER,
        level="cluster",
        hosts=list(dict.fromkeys(hosts)),
        latency_s=1e-6,
        bandwidth_bytes_per_s=1e9,
    )
    write_text(file, topologies.write(Topology(origin="simulated", group=[group])))
    return preload.broadcasts_only(rules, file)
