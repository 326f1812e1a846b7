"""MPICH's mpiexec (hydra), over libfabric or UCX."""

from __future__ import annotations

from collections.abc import Mapping

from scope.launch.launcher import MPIEXEC, Command, Job, Site


class Mpich:
    """Starts ranks with hydra, which hands its environment to every rank."""

    kind = MPIEXEC
    mpis = ("mpich", "mvapich")
    scheduler = None
    program = None

    def command(self, job: Job, site: Site, environment: Mapping[str, str]) -> Command:
        """Return the command line; see mpiexec.hydra(1)."""
        per_host = job.ranks_per_host or site.ranks_per_host
        crowded = job.oversubscribed or site.one_kernel
        binding = "none" if crowded else job.binding
        names = [f"{host.name}:{host.slots}" if host.slots else host.name for host in site.hosts]
        arguments = [
            *(site.mpiexec, "-n", str(job.ranks)),
            *(["-hosts", ",".join(names)] if names else []),
            *(["-ppn", str(per_host)] if per_host else []),
            # Not to bind is the default; hydra 5.0 asked for it cannot start further processes.
            *(["-bind-to", binding] if binding != "none" else []),
            *(["-launcher", "ssh", "-launcher-exec", site.agent] if site.agent else []),
            *site.arguments,
            *(job.program, *job.arguments),
        ]
        return Command(arguments, {**environment, **settings(job, site)})


def settings(job: Job, site: Site) -> dict[str, str]:
    """Return the variables of a job, whoever starts its ranks: the way of messages, and patience in a crowd."""
    # MPICH spins; the sooner it yields the sooner a neighbour on the same core goes on.
    crowded = job.oversubscribed or site.one_kernel
    patience = {"MPIR_CVAR_POLLS_BEFORE_YIELD": "10"} if crowded else {}
    return _transport(job, site) | patience


def _transport(job: Job, site: Site) -> dict[str, str]:
    """Choose TCP in every network module and forbid shared memory inside a host.

    A build with both modules takes libfabric's TCP, which knows the loopback; UCX 1.20 finds no route over it.
    """
    tcp = {
        "MPIR_CVAR_NOLOCAL": "1",
        "MPIR_CVAR_CH4_NETMOD": "ofi",
        "FI_PROVIDER": "tcp",
        "UCX_TLS": "tcp,self",
    }
    chosen = tcp if job.transport == "tcp" else {}
    if site.one_kernel and not chosen:
        # MPICH's own shared memory stays inside a host; that of its fabrics would reach the others.
        chosen = {name: value for name, value in tcp.items() if name != "MPIR_CVAR_NOLOCAL"}
    if site.interface:
        return {**chosen, "UCX_NET_DEVICES": site.interface, "FI_TCP_IFACE": site.interface}
    return {**chosen, "FI_TCP_IFACE": "lo"} if chosen and site.one_host else chosen


LAUNCHER = Mpich()
