"""MPICH and its derivatives MVAPICH and Intel MPI, over libfabric or UCX.

See the README.envvar of MPICH, fi_tcp(7) of libfabric, the UCX documentation (UCX_TLS, UCX_NET_DEVICES), and the
Developer Reference of the Intel MPI Library: I_MPI_FABRICS, I_MPI_OFI_PROVIDER, I_MPI_THREAD_YIELD.
"""

from collections.abc import Iterable, Mapping

from hpcscope.build.mpi.implementation import LOOPBACK, Conditions, MpiImplementation

TCP = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "UCX_TLS": "tcp,self"}
"""TCP in every network module. A build with both takes libfabric's: UCX 1.20 finds no route over the loopback."""


class MpichFamily:
    """MPICH is controlled by environment variables, which hydra passes to all ranks."""

    name = "mpich"
    sonames: tuple[str, ...] = ("libmpi.so.12", "libmpich.so.12")
    process_manager = "pmi2"
    shared_memory: tuple[str, ...] = ("mpich_sh*", "ucx_shm_posix_*", "Intel_MPI_*", "psm*_shm.*")
    session = ""

    def environment(self, conditions: Conditions) -> dict[str, str]:
        """Return the control variables of a program."""
        variables = {}
        if conditions.oversubscribed or conditions.shared_kernel:
            # MPICH polls; the sooner it yields, the sooner the rank that it waits for gets the processor.
            variables["MPIR_CVAR_POLLS_BEFORE_YIELD"] = "10"
        if conditions.provider:
            netmod = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": conditions.provider}
            return variables | netmod | {"MPIR_CVAR_NOLOCAL": "1"}
        if conditions.tcp:
            variables |= {"MPIR_CVAR_NOLOCAL": "1", **TCP}
        elif conditions.shared_kernel:
            # MPICH's own shared memory stays inside an emulated host; that of its fabrics would reach other hosts.
            variables |= TCP
        over_tcp = conditions.tcp or conditions.shared_kernel
        if conditions.interface:
            variables |= {"UCX_NET_DEVICES": conditions.interface, "FI_TCP_IFACE": conditions.interface}
        elif over_tcp and conditions.one_host:
            variables["FI_TCP_IFACE"] = LOOPBACK
        return variables

    def launching(self, remote_shell: str, control_interface: str) -> dict[str, str]:
        """Return the variables of hydra, which finds other hosts by itself and binds no rank."""
        del control_interface
        return {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": remote_shell}

    def exports(self, variables: Mapping[str, str]) -> list[str]:
        """Return hydra's `-genv NAME VALUE`."""
        return [word for name, value in variables.items() for word in ("-genv", name, value)]

    def inherits(self, names: Iterable[str]) -> list[str]:
        """Return nothing: hydra passes all of its variables to all ranks."""
        del names
        return []


MPICH_FAMILY = MpichFamily()
MVAPICH = MpiImplementation(
    name="mvapich",
    title="MVAPICH",
    family=MPICH_FAMILY,
    version_macros=(("MVAPICH_VERSION",), ("MVAPICH2_VERSION",)),
)
MPICH = MpiImplementation(
    name="mpich",
    title="MPICH",
    family=MPICH_FAMILY,
    version_macros=(("MPICH_VERSION",),),
    banner=r"HYDRA build details:\s+Version:\s+([\d.\w]+)",
)


class IntelFamily(MpichFamily):
    """Intel MPI is controlled by I_MPI_* and libfabric's variables, which hydra passes to all ranks."""

    def environment(self, conditions: Conditions) -> dict[str, str]:
        """Return the control variables of a program."""
        variables = {}
        if conditions.oversubscribed or conditions.shared_kernel:
            variables["I_MPI_THREAD_YIELD"] = "2"  # sched_yield
        over_tcp = conditions.tcp or conditions.shared_kernel
        if conditions.provider or over_tcp:
            # `ofi` alone also carries messages inside a host.
            variables |= {"I_MPI_FABRICS": "ofi", "I_MPI_OFI_PROVIDER": conditions.provider or "tcp"}
        if conditions.interface:
            variables["FI_TCP_IFACE"] = conditions.interface
        elif over_tcp and conditions.one_host:
            variables["FI_TCP_IFACE"] = LOOPBACK
        return variables


INTEL_MPI = MpiImplementation(
    name="intelmpi",
    title="Intel MPI",
    family=IntelFamily(),
    version_macros=(("I_MPI_VERSION",),),
    banner=r"Intel\(R\) MPI Library.*?Version ([\d.]+)",
    banner_differs=True,
    sonames=("libmpi_ilp64.so.12",),
)
