"""Intel MPI: MPICH's ABI and launcher, with variables and ways of pinning of its own.

See the Developer Reference of the Intel MPI Library: I_MPI_FABRICS, I_MPI_OFI_PROVIDER, I_MPI_THREAD_YIELD.
"""

from hpcscope.build.mpi.implementation import LOOPBACK, Conditions, MpiImplementation
from hpcscope.build.mpi.mpich import MpichFamily


class IntelFamily(MpichFamily):
    """Steered by I_MPI_* and by libfabric's variables, which hydra hands to all ranks."""

    def environment(self, conditions: Conditions) -> dict[str, str]:
        """Return the control variables of a program."""
        variables = {}
        if conditions.oversubscribed or conditions.shared_kernel:
            variables["I_MPI_THREAD_YIELD"] = "2"  # sched_yield
        over_tcp = conditions.tcp or conditions.shared_kernel
        if conditions.provider or over_tcp:
            # `ofi` alone also carries what stays inside a host.
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
