"""Open MPI's mpiexec: versions 4 (ORTE) and 5 (PRRTE)."""

import os
from collections.abc import Mapping

from hpcscope.launch.launcher import MPIEXEC, Command, MpiProgram, Site


class OpenMpi:
    """Starts ranks with Open MPI; see mpirun(1)."""

    kind = MPIEXEC
    mpis = ("openmpi",)
    scheduler = None
    program = None

    def command(self, program: MpiProgram, site: Site, environment: Mapping[str, str]) -> Command:
        """Return the command line."""
        conditions = site.conditions(program)
        prrte = conditions.major >= 5
        # mpiexec passes its own variables (OMPI_*) to all ranks by itself, others only when told to.
        exports = [] if site.one_host else [word for name in environment for word in ("-x", name)]
        arguments = [
            *(site.mpiexec, "-n", str(program.ranks)),
            *_hosts(site),
            *_mapping(program, site, prrte),
            *_control_network(site, prrte),
            *_remote_shell(site, prrte),
            *exports,
            *site.arguments,
            *(program.path, *program.arguments),
        ]
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        settings = site.family.environment(conditions)
        return Command(arguments, {**environment, **settings, **(root if os.geteuid() == 0 else {})})


def _hosts(site: Site) -> list[str]:
    if not site.hosts:
        return []
    return ["--host", ",".join(map(str, site.hosts))]


def _mapping(program: MpiProgram, site: Site, prrte: bool) -> list[str]:
    """Map and bind ranks."""
    per_host = program.ranks_per_host or site.ranks_per_host
    socket = "package" if prrte else "socket"
    binding = site.binding_of(program)
    by = {"core": "core", "socket": socket, "none": "slot"}[binding]
    # A launch of fewer ranks must not ask a host for slots that it does not use.
    where = f"ppr:{min(per_host, program.ranks)}:node" if per_host else by
    allowed = ":OVERSUBSCRIBE" if program.oversubscribed else ""
    return ["--map-by", where + allowed, "--bind-to", socket if binding == "socket" else binding]


def _control_network(site: Site, prrte: bool) -> list[str]:
    """Keep the launcher's own messages on their network."""
    if site.control_interface is None:
        return []
    words = ("--prtemca", "prte_if_include") if prrte else ("--mca", "oob_tcp_if_include")
    return [*words, site.control_interface]


def _remote_shell(site: Site, prrte: bool) -> list[str]:
    if site.remote_shell is None:
        return []
    return [*(("--prtemca", "plm_ssh_agent") if prrte else ("--mca", "plm_rsh_agent")), site.remote_shell]


LAUNCHER = OpenMpi()
