"""The environment of any mpiexec inside a lab, so that `mpiexec --host a1,b1 ./app` works as on a cluster.

Without it launchers would look for ssh, messages could take the unshaped network or memory that all hosts share,
and the first rank of every host would be bound to the same processor.
"""

from hpcscope.build.mpi.implementation import Conditions
from hpcscope.build.mpi.registry import FAMILIES
from hpcscope.lab.active import INTERFACE, MANAGEMENT

EMULATED = Conditions(shared_kernel=True, one_host=False, interface=INTERFACE)


def variables(remote_shell: str) -> dict[str, str]:
    """Return the variables of every MPI family; `remote_shell` replaces ssh."""
    steering = {name: value for family in FAMILIES for name, value in family.environment(EMULATED).items()}
    launching = {
        name: value for family in FAMILIES for name, value in family.launching(remote_shell, MANAGEMENT).items()
    }
    return steering | launching
