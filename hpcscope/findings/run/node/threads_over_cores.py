"""The BLAS threads of all ranks on a host outnumber its processors."""

from collections import Counter

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run

VARIABLES = {"OpenBLAS": "OPENBLAS_NUM_THREADS", "MKL": "MKL_NUM_THREADS", "BLIS": "BLIS_NUM_THREADS"}
"""Each library reads its own variable first; a run sets to 1 the variables that the environment does not set."""
LIBRARIES = {"blas", "lapack", "scalapack"}
"""Requirements of benchmarks that spend their time in the BLAS."""


def find(run: Run) -> Found:
    """Find the host with the most BLAS threads per processor.

    More ranks than processors have their own finding (`oversubscription`).
    """
    blas = run.machine.build.blas if run.machine.build else None
    name = VARIABLES.get(blas.name if blas else "", "OMP_NUM_THREADS")
    given = run.machine.environment.get(name, "")
    threads = max(1, int(given)) if given.isdecimal() else 1
    worst: tuple[float, str, int, int] | None = None
    cases: set[str] = set()
    for launch in run.raw_samples.launches:
        ran = {
            samples.case.label
            for samples in run.raw_samples.cases
            if samples.launch == launch.launch and LIBRARIES & set(run.benchmark(samples.case).requires)
        }
        for host, processes in Counter(process.host for process in launch.processes).items():
            room = run.usable(host)
            if not ran or not room or processes > room or processes * threads <= room:
                continue
            cases |= ran
            here = (processes * threads / room, host, processes, room)
            worst = max(worst, here) if worst else here
    if threads == 1 or worst is None:
        return
    _, host, processes, room = worst
    yield Finding(
        code="threads-over-cores",
        severity="warning",
        title=(
            f"{processes} ranks with {threads} threads each ({name}) shared {room} processors of {host} "
            f"in {len(cases)} cases of linear algebra"
        ),
        where={"host": host, "layer": "node", "ranks": processes},
        evidence=[
            Evidence(what=name, value=threads),
            Evidence(what=f"ranks on {host}", value=processes),
            Evidence(what=f"processors usable on {host}", value=room),
        ],
        advice=(
            f"Threads that wait for a core delay all other threads of their rank. Set {name} to "
            f"{max(1, room // processes)}, or use fewer ranks on a host."
        ),
    )
