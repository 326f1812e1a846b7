"""Open MPI's mpiexec: versions 4 (ORTE) and 5 (PRRTE)."""

import os
from collections.abc import Mapping

from hpcscope.launch.launcher import MPIEXEC, Command, MpiProgram, Site

ORTE = ("--mca", "plm_rsh_agent"), ("--mca", "oob_tcp_if_include")
PRRTE = ("--prtemca", "plm_ssh_agent"), ("--prtemca", "prte_if_include")
"""Words before the remote shell, and before the network of the launcher's own messages."""


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
        shell, network = PRRTE if prrte else ORTE
        # mpiexec passes its own variables (OMPI_*) to all ranks by itself, others only when told to.
        exports = [] if site.one_host else [word for name in environment for word in ("-x", name)]
        arguments = [
            *(site.mpiexec, "-n", str(program.ranks)),
            *(["--host", ",".join(map(str, site.hosts))] if site.hosts else []),
            *_mapping(program, site, prrte),
            *([*network, site.control_interface] if site.control_interface is not None else []),
            *([*shell, site.remote_shell] if site.remote_shell is not None else []),
            *exports,
            *site.arguments,
            *(program.path, *program.arguments),
        ]
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        settings = site.family.environment(conditions)
        return Command(arguments, {**environment, **settings, **(root if os.geteuid() == 0 else {})})


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


LAUNCHER = OpenMpi()
