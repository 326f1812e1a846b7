"""Settings of the MPI libraries that advice refers to; checked with the libraries named."""

from __future__ import annotations

from typing import Literal

Topic = Literal["eager limit", "memory copies", "waiting", "network stack", "collective buffering"]

_SETTINGS: dict[str, dict[Topic, str]] = {
    "openmpi": {
        "eager limit": (
            "with Open MPI it is set by `--mca btl_sm_eager_limit BYTES` (4.x: btl_vader_eager_limit) in shared "
            "memory and `--mca btl_tcp_eager_limit BYTES` over TCP; over UCX by "
            "`UCX_RNDV_THRESH`"
        ),
        "memory copies": (
            "with Open MPI compare one copy with two: `--mca smsc ^cma` "
            "(4.x: `--mca btl_vader_single_copy_mechanism none`)"
        ),
        "waiting": "with Open MPI, waiting processes yield with `--mca mpi_yield_when_idle 1`",
        "network stack": "with Open MPI select only what is needed: `--mca pml ob1 --mca btl tcp,self`",
        "collective buffering": (
            "with Open MPI select how OMPIO gathers: `--mca fcoll individual` (no gathering), or the number of "
            "aggregators by `--mca io_ompio_num_aggregators N`"
        ),
    },
    "mpich": {
        "eager limit": (
            "with MPICH it is set by `UCX_RNDV_THRESH` (UCX) or `MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD` (libfabric)"
        ),
        "memory copies": "with MPICH over UCX compare the default with `UCX_TLS=posix,self`, which copies twice",
        "waiting": "MPICH polls continuously: use no more ranks than processors, or Open MPI, which can yield",
        "network stack": "with MPICH compare the network modules: `MPIR_CVAR_CH4_NETMOD=ucx` or `ofi`",
        "collective buffering": (
            "with MPICH give ROMIO the hints `romio_cb_write=disable` and `romio_cb_read=disable`, or the number "
            "of aggregators by `cb_nodes`, as MPI_Info or in the file that ROMIO_HINTS names"
        ),
    },
}

_ANY: dict[Topic, str] = {
    "eager limit": "the manual of the library names the setting of its eager limit",
    "memory copies": "the manual of the library names the setting for copies in shared memory",
    "waiting": "use no more ranks than processors, or let waiting processes yield",
    "network stack": "the manual of the library names the setting that selects its network module",
    "collective buffering": "the manual of the library names the hints for collective buffering",
}

_TUNED = (
    *("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "exscan", "gather"),
    *("reduce", "reduce_scatter", "reduce_scatter_block", "scan", "scatter"),
)
"""Routines whose algorithm Open MPI 4 and 5 let one choose (`ompi_info --param coll tuned --level 9`)."""
_CHOSEN = (*_TUNED, "alltoallw", "gatherv", "scatterv")
"""Routines whose algorithm MPICH 4 lets one choose."""


def variables_of(mpi: str, routine: str) -> list[str]:
    """Return the control variables that choose the algorithm of `MPI_Scan`, `MPI_Bcast`, ...; none if unknown."""
    name = routine.removeprefix("MPI_").lower()
    if mpi == "openmpi" and name in _TUNED:
        return [f"coll_tuned_{name}_algorithm"]
    if mpi == "mpich" and name in _CHOSEN:
        return [f"MPIR_CVAR_{name.upper()}_INTRA_ALGORITHM"]
    return []


def another_algorithm(mpi: str, routine: str) -> str:
    """Return how to try other algorithms of a collective routine; which one is best, a measurement decides."""
    names = variables_of(mpi, routine)
    if not names:
        return f"try another MPI{f' for {routine}' if routine else ''} (`scope compare --measure` decides)"
    if mpi == "openmpi":
        before = "--mca coll ^han,adapt --mca coll_tuned_use_dynamic_rules 1"
        return (
            f"try other algorithms: `{before} --mca {names[0]} N` (`ompi_info --param coll tuned --level 9` lists"
            " them; `scope compare --measure` decides)"
        )
    return f"try other algorithms: `{names[0]}` in the environment (`scope compare --measure` decides)"


_HOW_TO_SET = {"openmpi": "`--mca {name} BYTES`", "mpich": "`{name}=BYTES` in the environment"}


def how_to_set(mpi: str, name: str) -> str:
    """Return how a control variable of a library is set."""
    way = _HOW_TO_SET["mpich"] if name.startswith("UCX_") else _HOW_TO_SET.get(mpi, "`{name}`")
    return way.format(name=name)


def setting(mpi: str, topic: Topic) -> str:
    """Return how to change a library, by its name in `machine.json`; general words for an unknown one."""
    return _SETTINGS.get(mpi, _ANY)[topic]
