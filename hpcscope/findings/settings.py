"""Settings of the MPI libraries that advice refers to, as a user writes them and as a trial sets them.

`benchmarks/advice_effect.py` applies each of them on the libraries that are installed.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from hpcscope.findings.finding import Trial
from hpcscope.findings.results import Run
from hpcscope.models.fitting.fit import LibrarySetting
from hpcscope.plan.case import Case

Topic = Literal["memory copies", "waiting", "network stack", "collective buffering"]
Change = dict[str, str]
"""Environment variables."""

MCA = "OMPI_MCA_"
"""Prefix of the variables that correspond to `--mca` on the command line of Open MPI."""
TRY = "`scope run --try-advice` measures the effect"
_ALGORITHMS = {f"{MCA}coll": "^han,adapt", f"{MCA}coll_tuned_use_dynamic_rules": "1"}
"""Let the component `tuned` of Open MPI carry out collectives by the requested algorithm."""

_TUNED = {
    **{"allgather": 6, "allgatherv": 5, "allreduce": 6, "alltoall": 5, "alltoallv": 2, "barrier": 6, "bcast": 9},
    **{"exscan": 2, "gather": 3, "reduce": 7, "reduce_scatter": 4, "reduce_scatter_block": 4, "scan": 2},
    "scatter": 3,
}
"""Number of algorithms of each routine in Open MPI 4.1 (`ompi_info --param coll tuned --level 9`)."""
_MPICH = {
    "allgather": ("brucks", "recursive_doubling", "ring"),
    "allgatherv": ("brucks", "recursive_doubling", "ring"),
    "allreduce": ("recursive_doubling", "reduce_scatter_allgather"),
    "alltoall": ("brucks", "pairwise", "scattered"),
    "alltoallv": ("pairwise_sendrecv_replace", "scattered"),
    "barrier": ("smp",),
    "bcast": ("binomial", "scatter_recursive_doubling_allgather", "scatter_ring_allgather"),
    "gather": ("binomial",),
    "reduce": ("binomial", "reduce_scatter_gather"),
    "reduce_scatter": ("recursive_doubling", "pairwise", "recursive_halving"),
    "reduce_scatter_block": ("recursive_doubling", "pairwise", "recursive_halving"),
    "scan": ("smp", "recursive_doubling"),
    "scatter": ("binomial",),
}
"""The algorithms of each routine in MPICH 4 (`MPIR_CVAR_*_INTRA_ALGORITHM`)."""

_LIMITS = {
    "openmpi": ("btl_sm_eager_limit", "btl_vader_eager_limit", "btl_tcp_eager_limit"),
    "mpich": ("UCX_RNDV_THRESH", "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD"),
}
"""Eager limits; a library reads those of the modules that it uses. Open MPI 4 calls today's sm vader."""

_OTHERWISE: dict[Topic, str] = {
    "memory copies": "the manual of the library names the setting for copies in shared memory",
    "waiting": "use no more ranks than processors, or let waiting ranks yield",
    "network stack": "the manual of the library names the setting that selects its network module",
    "collective buffering": "try the library's hints for collective buffering (ROMIO: file `ROMIO_HINTS`)",
}


class Advised(NamedTuple):
    """What to try, in words and as trials."""

    words: str
    trials: list[Trial]


def spelt(change: Change) -> str:
    """Return a change as a user writes it: `--mca smsc ^cma`, or environment variables."""
    words = [
        f"--mca {name.removeprefix(MCA)} {value}" if name.startswith(MCA) else f"{name}={value}"
        for name, value in change.items()
    ]
    return f"`{' '.join(words)}`"


def advised(run: Run, topic: Topic, case: Case | None) -> Advised:
    """Return how to change a library in some way, with trials on a case; general words for an unknown library."""
    known = run.machine.environment.items()
    changes = [change for change in _changes(run, topic) if not change.items() <= known]
    return _tried(changes, case) if changes else Advised(_OTHERWISE[topic], [])


OF_COLLECTIVES = "the library's algorithms of collectives"
"""The cause of findings that another algorithm of the library may remedy."""


def another_algorithm(run: Run, routine: str, case: Case | None) -> Advised:
    """Return how to try other algorithms of a collective routine on a case."""
    changes = algorithms(run.mpi, routine)
    if not changes:
        return Advised(f"try another MPI{f' for {routine}' if routine else ''} (`scope run --mpi NAME`)", [])
    words = spelt({**changes[0], [*changes[0]][-1]: "NAME" if run.mpi == "mpich" else "N"})
    tried = _tried(changes, case)
    return tried._replace(words=f"try other algorithms with {words} ({TRY})")


def algorithms(mpi: str, routine: str) -> list[Change]:
    """Return a change for each algorithm of `MPI_Scan`, `MPI_Bcast`, ...; none if the library offers no choice."""
    name = routine.removeprefix("MPI_").lower()
    if mpi == "openmpi":
        variable = f"{MCA}coll_tuned_{name}_algorithm"
        return [{**_ALGORITHMS, variable: str(number + 1)} for number in range(_TUNED.get(name, 0))]
    chosen = _MPICH.get(name, ()) if mpi == "mpich" else ()
    return [{f"MPIR_CVAR_{name.upper()}_INTRA_ALGORITHM": algorithm} for algorithm in chosen]


def another_limit(run: Run, settings: Sequence[LibrarySetting], moved_bytes: int, case: Case) -> Advised:
    """Return how to move the size at which a library switches: by these settings, else by its eager limits."""
    prefix = MCA if run.mpi == "openmpi" else ""
    collective = run.benchmarks.routine(case.benchmark) not in ("", "MPI_Send")
    limits = _LIMITS.get(run.mpi, ()) if not collective else ()
    names = [setting.name for setting in settings] or list(limits)
    if not names:
        return Advised("Scope knows no setting of the library for this limit", [])
    changes = [{name if name.startswith("UCX_") else prefix + name: str(moved_bytes)} for name in names]
    return _tried(changes, case)


def _tried(changes: list[Change], case: Case | None) -> Advised:
    words = " or ".join(map(spelt, changes))
    if case is None:
        return Advised(f"try {words} (`scope compare --measure` decides)", [])
    return Advised(f"try {words} ({TRY})", [Trial(environment=change, case=case.request) for change in changes])


def _changes(run: Run, topic: Topic) -> list[Change]:
    old = run.machine.build is not None and run.machine.build.mpi.version.startswith("4.")
    shared = "vader" if old else "sm"
    changes: dict[tuple[str, Topic], list[Change]] = {
        ("openmpi", "memory copies"): [
            {f"{MCA}btl_vader_single_copy_mechanism": "none"} if old else {f"{MCA}smsc": "^cma"}
        ],
        ("openmpi", "waiting"): [{f"{MCA}mpi_yield_when_idle": "1"}],
        ("openmpi", "network stack"): [{f"{MCA}pml": "ob1", f"{MCA}btl": f"self,{shared},tcp"}],
        ("openmpi", "collective buffering"): [{f"{MCA}fcoll": "individual"}],
        ("mpich", "memory copies"): [{"UCX_TLS": "posix,self"}],
        ("mpich", "network stack"): [{"MPIR_CVAR_CH4_NETMOD": netmod} for netmod in ("ucx", "ofi")],
    }
    return changes.get((run.mpi, topic), [])
