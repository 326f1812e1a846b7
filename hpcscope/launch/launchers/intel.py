"""Intel MPI's mpiexec: a hydra that binds ranks by variables; see the library's Developer Reference."""

from hpcscope.launch.launchers.mpich import Mpich
from hpcscope.settings.experiment import Binding

PINNING = {
    "core": {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "core"},
    "socket": {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "socket"},
    "none": {"I_MPI_PIN": "0"},
}
OWN_PLACEMENT = {"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"}
"""In a batch job hydra would otherwise ignore `-ppn`."""


class IntelMpi(Mpich):
    """Starts ranks with Intel's hydra."""

    mpis = ("intelmpi",)

    def bound(self, binding: Binding) -> tuple[list[str], dict[str, str]]:
        """Return the arguments and variables that bind ranks."""
        return [], PINNING[binding] | OWN_PLACEMENT


LAUNCHER = IntelMpi()
