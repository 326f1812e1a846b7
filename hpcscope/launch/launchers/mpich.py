"""MPICH's mpiexec (hydra)."""

from __future__ import annotations

from collections.abc import Mapping

from hpcscope.launch.launcher import MPIEXEC, Command, MpiProgram, Site


class Mpich:
    """Starts ranks with hydra, which hands its environment to every rank; see mpiexec.hydra(1)."""

    kind = MPIEXEC
    mpis = ("mpich", "mvapich")
    scheduler = None
    program = None

    def command(self, program: MpiProgram, site: Site, environment: Mapping[str, str]) -> Command:
        """Return the command line."""
        per_host = program.ranks_per_host or site.ranks_per_host
        binding = "none" if program.oversubscribed or site.shared_kernel else program.binding
        names = list(map(str, site.hosts))
        arguments = [
            *(site.mpiexec, "-n", str(program.ranks)),
            *(["-hosts", ",".join(names)] if names else []),
            *(["-ppn", str(per_host)] if per_host else []),
            # No binding is the default; where hydra 5.0 is asked for it, MPI_Comm_spawn fails.
            *(["-bind-to", binding] if binding != "none" else []),
            *(["-launcher", "ssh", "-launcher-exec", site.remote_shell] if site.remote_shell else []),
            *site.arguments,
            *(program.path, *program.arguments),
        ]
        return Command(arguments, {**environment, **site.family.environment(site.conditions(program))})


LAUNCHER = Mpich()
