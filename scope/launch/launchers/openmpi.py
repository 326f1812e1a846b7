"""Open MPI's mpiexec: versions 4 (ORTE) and 5 (PRRTE)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from scope.launch.launcher import MPIEXEC, Command, Job, Site


class OpenMpi:
    """Starts ranks with Open MPI."""

    kind = MPIEXEC
    mpis = ("openmpi",)
    scheduler = None
    program = None

    def command(self, job: Job, site: Site, environment: Mapping[str, str]) -> Command:
        """Return the command line; see mpirun(1) of Open MPI."""
        version = int(site.mpi.version.partition(".")[0])
        exports = [] if site.one_host else [word for name in environment for word in ("-x", name)]
        arguments = [
            *(site.mpiexec, "-n", str(job.ranks)),
            *_hosts(site),
            *_mapping(job, site, version),
            *(word for name, value in settings(job, site).items() for word in ("--mca", name, value)),
            *_control(site, version),
            *_agent(site, version),
            *exports,
            *site.arguments,
            *(job.program, *job.arguments),
        ]
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return Command(arguments, {**environment, **(root if os.geteuid() == 0 else {})})


def _hosts(site: Site) -> list[str]:
    if not site.hosts:
        return []
    names = [f"{host.name}:{host.slots}" if host.slots else host.name for host in site.hosts]
    return ["--host", ",".join(names)]


def _mapping(job: Job, site: Site, version: int) -> list[str]:
    """Which core each rank gets. A bound rank among more ranks than cores would wait for its neighbour's slice."""
    per_host = job.ranks_per_host or site.ranks_per_host
    socket = "package" if version >= 5 else "socket"
    crowded = job.oversubscribed or site.one_kernel
    by = {"core": "core", "socket": socket, "none": "slot"}["none" if crowded else job.binding]
    where = f"ppr:{per_host}:node" if per_host else by
    binding = "none" if crowded else socket if job.binding == "socket" else job.binding
    crowd = ":OVERSUBSCRIBE" if job.oversubscribed else ""
    return ["--map-by", where + crowd, "--bind-to", binding]


def settings(job: Job, site: Site) -> dict[str, str]:
    """Return the parameters (MCA) of a job, whoever starts its ranks: patience in a crowd, the way of messages."""
    yielding = {"mpi_yield_when_idle": "1"} if job.oversubscribed or site.one_kernel else {}
    interface = site.interface or ("lo" if site.one_host and job.transport == "tcp" else None)
    network = {"btl_tcp_if_include": interface} if interface else {}
    # Where hosts share a kernel, fabric libraries reach the others through memory; these keep it inside a host.
    within = "sm" if int(site.mpi.version.partition(".")[0]) >= 5 else "vader"
    emulated = {"pml": "ob1", "btl": f"tcp,self,{within}"} if site.one_kernel else {}
    tcp = {"pml": "ob1", "btl": "tcp,self"} if job.transport == "tcp" else emulated
    return yielding | tcp | network


def _control(site: Site, version: int) -> list[str]:
    """Keep the launcher's own messages on their network."""
    if site.control_interface is None:
        return []
    words = ["--prtemca", "prte_if_include"] if version >= 5 else ["--mca", "oob_tcp_if_include"]
    return [*words, site.control_interface]


def _agent(site: Site, version: int) -> list[str]:
    if site.agent is None:
        return []
    return ["--prtemca", "plm_ssh_agent", site.agent] if version >= 5 else ["--mca", "plm_rsh_agent", site.agent]


LAUNCHER = OpenMpi()
