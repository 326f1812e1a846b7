"""Which setting of which MPI library steers what: what advice is made of. Checked against the libraries named."""

from __future__ import annotations

from typing import Literal

Topic = Literal["eager limit", "memory copies", "collective algorithm", "waiting", "network stack"]

_SETTINGS: dict[str, dict[Topic, str]] = {
    "openmpi": {
        "eager limit": (
            "with Open MPI move it with `--mca btl_sm_eager_limit BYTES` (4.x: btl_vader_eager_limit) in shared "
            "memory and `--mca btl_tcp_eager_limit BYTES` over TCP; where UCX carries messages, with "
            "`UCX_RNDV_THRESH`"
        ),
        "memory copies": (
            "with Open MPI compare copying once with copying twice: `--mca smsc ^cma` "
            "(4.x: `--mca btl_vader_single_copy_mechanism none`)"
        ),
        "collective algorithm": (
            "with Open MPI choose the algorithm: `--mca coll ^han,adapt --mca coll_tuned_use_dynamic_rules 1` and "
            "`--mca coll_tuned_bcast_algorithm N` or `coll_tuned_barrier_algorithm N` "
            "(`ompi_info --param coll tuned --level 9` lists them)"
        ),
        "waiting": "with Open MPI let waiting processes yield: `--mca mpi_yield_when_idle 1`",
        "network stack": "with Open MPI leave out what is not used: `--mca pml ob1 --mca btl tcp,self`",
    },
    "mpich": {
        "eager limit": (
            "with MPICH move it with `UCX_RNDV_THRESH` (UCX) or `MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD` (libfabric)"
        ),
        "memory copies": "with MPICH over UCX compare the default with `UCX_TLS=posix,self`, which copies twice",
        "collective algorithm": "with MPICH choose the algorithm: `MPIR_CVAR_BCAST_INTRA_ALGORITHM` and its kin",
        "waiting": "MPICH polls without pause: use no more ranks than processors, or Open MPI, which yields",
        "network stack": "with MPICH compare the network modules: `MPIR_CVAR_CH4_NETMOD=ucx` or `ofi`",
    },
}

_ANY: dict[Topic, str] = {
    "eager limit": "the library's manual names the variable that moves its eager limit",
    "memory copies": "the library's manual names the variable that chooses how shared memory is copied",
    "collective algorithm": "the library's manual names the variable that chooses the algorithm",
    "waiting": "use no more ranks than processors, or let waiting processes yield",
    "network stack": "the library's manual names the variable that chooses its network module",
}


_HOW_TO_SET = {"openmpi": "`--mca {name} BYTES`", "mpich": "`{name}=BYTES` in the environment"}


def how_to_set(mpi: str, name: str) -> str:
    """Return how a control variable of a library is given another value."""
    way = _HOW_TO_SET["mpich"] if name.startswith("UCX_") else _HOW_TO_SET.get(mpi, "`{name}`")
    return way.format(name=name)


def setting(mpi: str, topic: Topic) -> str:
    """Return how a library (by its name in `machine.json`) is told; general words for one that is not known."""
    return _SETTINGS.get(mpi, _ANY)[topic]
