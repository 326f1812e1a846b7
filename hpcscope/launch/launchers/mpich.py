"""MPICH's mpiexec (hydra)."""

from collections.abc import Mapping

from hpcscope.launch.launcher import MPIEXEC, Command, MpiProgram, Site
from hpcscope.settings.experiment import Binding


class Mpich:
    """Starts ranks with hydra, which hands its environment to every rank; see mpiexec.hydra(1)."""

    kind = MPIEXEC
    mpis: tuple[str, ...] = ("mpich", "mvapich")
    scheduler = None
    program = None

    def command(self, program: MpiProgram, site: Site, environment: Mapping[str, str]) -> Command:
        """Return the command line."""
        per_host = program.ranks_per_host or site.ranks_per_host
        names = list(map(str, site.hosts))
        words, variables = self.bound(site.binding_of(program))
        arguments = [
            *(site.mpiexec, "-n", str(program.ranks)),
            *(["-hosts", ",".join(names)] if names else []),
            *(["-ppn", str(per_host)] if per_host else []),
            *words,
            *(["-print-all-exitcodes"] if program.exit_codes else []),
            *(["-launcher", "ssh", "-launcher-exec", site.remote_shell] if site.remote_shell else []),
            *site.arguments,
            *(program.path, *program.arguments),
        ]
        settings = site.family.environment(site.conditions(program))
        return Command(arguments, {**environment, **variables, **settings})

    def bound(self, binding: Binding) -> tuple[list[str], dict[str, str]]:
        """Return the arguments and variables that bind ranks."""
        # No binding is the default; if hydra 5.0 is asked for it explicitly, MPI_Comm_spawn fails.
        return (["-bind-to", binding] if binding != "none" else []), {}


LAUNCHER = Mpich()
