"""Open MPI, versions 4 (ORTE) and 5 (PRRTE). See https://docs.open-mpi.org (MCA parameters)."""

import os
from collections.abc import Iterable, Mapping

from hpcscope.build.mpi.implementation import LOOPBACK, Conditions, MpiImplementation
from hpcscope.private import home


class OpenMpiFamily:
    """Open MPI is controlled by MCA parameters; its launchers take them from the environment and forward them."""

    name = "openmpi"
    sonames: tuple[str, ...] = ("libmpi.so.40", "libmpi.so.20")
    process_manager = "pmix"
    shared_memory: tuple[str, ...] = (
        "sm_segment.*",
        "vader_segment.*",
        "osc_*.*",
        "ucx_shm_posix_*",
        "psm*_shm.*",
    )
    session = "ompi.{host}.{user}/pid.{launcher}"  # of version 4

    def environment(self, conditions: Conditions) -> dict[str, str]:
        """Return the MCA parameters of a program."""
        parameters = {}
        if conditions.oversubscribed or conditions.shared_kernel:
            parameters["mpi_yield_when_idle"] = "1"
        if conditions.provider:
            parameters |= {"pml": "cm", "mtl": "ofi", "mtl_ofi_provider_include": conditions.provider}
            # One-sided communication: UCX would bypass the provider for windows if it can, and version 5 complains
            # about every window if it cannot. Version 5 leaves windows to the `btl` components below. In version
            # 4, `osc` rdma crashes in a compare-and-swap with this `pml`; its other components send messages or
            # use the memory of the host. (The one with messages refuses programs with MPI_THREAD_MULTIPLE;
            # `mpiexec --mca osc ^rdma` gives them UCX.)
            if conditions.major >= 5:
                parameters |= {"btl": "ofi,self,sm", "osc": "^ucx"}
                parameters["opal_common_ofi_provider_include"] = conditions.provider
            else:
                parameters |= {"btl": "self", "osc": "^rdma,ucx"}
        elif conditions.tcp:
            # UCX would bypass TCP for windows. So would shared memory, in which MPI_Win_allocate makes windows
            # inside a host: its component gets the lowest priority but is not excluded, since
            # MPI_Win_allocate_shared needs it (version 4 always tries it first).
            parameters |= {"pml": "ob1", "btl": "tcp,self", "osc": "^ucx", "osc_sm_priority": "1"}
        elif conditions.shared_kernel:
            # Fabric libraries would reach other emulated hosts through memory; this one stays inside a host.
            parameters |= {"pml": "ob1", "btl": f"tcp,self,{'sm' if conditions.major >= 5 else 'vader'}"}
        elif conditions.major >= 5 and not conditions.fabric:
            # Without an adapter, one of these sleeps for 1 s in MPI_Init, and the other searches for 0.2 s.
            parameters |= {name: "^ofi" for name in ("btl", "mtl") if not _user_chose(name)}
        if conditions.shared_kernel and conditions.major < 5:
            # Windows of this component between emulated hosts fail with MPI_ERR_WIN (4.1.4). It gets the lowest
            # priority but is not excluded: a lab does not know the version (0), and version 5 has no other one.
            # Windows still fail unless some component is excluded (this one, UCX or pt2pt; the reason is unknown).
            parameters = {"osc_rdma_priority": "0", "osc": "^monitoring"} | parameters
        interface = conditions.interface or (LOOPBACK if conditions.tcp and conditions.one_host else None)
        if interface:
            parameters["btl_tcp_if_include"] = interface
        return {f"OMPI_MCA_{name}": value for name, value in parameters.items()}

    def launching(self, remote_shell: str, control_interface: str) -> dict[str, str]:
        """Return the parameters of ORTE (OMPI_MCA_*) and PRRTE (PRTE_MCA_*)."""
        return {
            "OMPI_MCA_plm_rsh_agent": remote_shell,
            "PRTE_MCA_plm_ssh_agent": remote_shell,
            "OMPI_MCA_oob_tcp_if_include": control_interface,
            "PRTE_MCA_prte_if_include": control_interface,
            "OMPI_MCA_hwloc_base_binding_policy": "none",
            "PRTE_MCA_hwloc_default_binding_policy": "none",
        }

    def exports(self, variables: Mapping[str, str]) -> list[str]:
        """Return mpirun's `-x NAME=VALUE`."""
        return [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]

    def inherits(self, names: Iterable[str]) -> list[str]:
        """Return mpirun's `-x NAME`; it forwards its own parameters by itself."""
        return [word for name in names if not name.startswith("OMPI_") for word in ("-x", name)]


def _user_chose(parameter: str) -> bool:
    """Return whether the user sets an MCA parameter, in the environment or (perhaps) in a parameter file."""
    return f"OMPI_MCA_{parameter}" in os.environ or (home() / ".openmpi/mca-params.conf").exists()


OPEN_MPI_FAMILY = OpenMpiFamily()
OPEN_MPI = MpiImplementation(
    name="openmpi",
    title="Open MPI",
    family=OPEN_MPI_FAMILY,
    version_macros=(("OMPI_MAJOR_VERSION", "OMPI_MINOR_VERSION", "OMPI_RELEASE_VERSION"),),
    banner=r"(?:Open MPI|OpenRTE|PRRTE)\D*([\d.]+)",
)
