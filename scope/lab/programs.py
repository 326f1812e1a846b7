"""What a user's own mpiexec must be told inside a lab, so that `mpiexec --host a1,b1 ./app` works as on a cluster.

Without it launchers would look for ssh, messages could take the unshaped network or memory that all hosts share,
and the first rank of every host would be bound to the same processor.
"""

from __future__ import annotations

from scope.lab.active import INTERFACE, MANAGEMENT


def variables(agent: str) -> dict[str, str]:
    """Return variables for Open MPI 4 and 5, and for MPICH over libfabric and UCX; `agent` stands in for ssh."""
    return {
        "OMPI_MCA_plm_rsh_agent": agent,
        "PRTE_MCA_plm_ssh_agent": agent,
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": agent,
        "OMPI_MCA_oob_tcp_if_include": MANAGEMENT,
        "PRTE_MCA_prte_if_include": MANAGEMENT,
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "tcp,self,vader",
        "OMPI_MCA_btl_tcp_if_include": INTERFACE,
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "MPIR_CVAR_CH4_NETMOD": "ofi",
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": INTERFACE,
        "UCX_TLS": "tcp,self",
        "UCX_NET_DEVICES": INTERFACE,
        "MPIR_CVAR_POLLS_BEFORE_YIELD": "10",
    }
