"""The threads of the BLAS, times the processes of a host, are more than its processors."""

from __future__ import annotations

from collections import Counter

from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context, label
from scope.findings.run.measurement.oversubscription import usable

VARIABLES = {"OpenBLAS": "OPENBLAS_NUM_THREADS", "MKL": "MKL_NUM_THREADS", "BLIS": "BLIS_NUM_THREADS"}
"""Each library looks at its own first, and a run sets each that is not set to 1."""
BENCHMARKS = (
    "node.matrix_multiply",
    "node.lapack",
    "algorithm.linpack",
    "algorithm.summa",
    "algorithm.scalapack_",
)
"""What spends its time in the BLAS."""


def find(context: Context) -> list[Finding]:
    """Find the host where most threads of cases that live on the BLAS had to share a processor.

    More processes than processors are another finding (`oversubscription`).
    """
    blas = context.machine.build.blas if context.machine.build else None
    name = VARIABLES.get(blas.name if blas else "", "OMP_NUM_THREADS")
    given = context.machine.environment.get(name, "")
    threads = max(1, int(given)) if given.isdecimal() else 1
    worst: tuple[float, str, int, float] | None = None
    cases: set[str] = set()
    for launch in context.samples.launches:
        ran = {
            label(case)
            for case in context.samples.cases
            if case.launch == launch.launch and case.benchmark.startswith(BENCHMARKS)
        }
        for host, processes in Counter(process.host for process in launch.processes).items():
            room = usable(context, host)
            if not ran or not room or processes > room or processes * threads <= room:
                continue
            cases |= ran
            here = (processes * threads / room, host, processes, room)
            worst = max(worst, here) if worst else here
    if threads == 1 or worst is None:
        return []
    _, host, processes, room = worst
    return [
        Finding(
            code="threads-over-cores",
            severity="warning",
            title=(
                f"{processes} processes of {threads} threads each ({name}) shared {room:g} processors of {host}, "
                f"in {len(cases)} cases of linear algebra"
            ),
            where={"host": host, "layer": "node", "ranks": processes},
            evidence=[
                Evidence(what=name, value=threads),
                Evidence(what=f"processes on {host}", value=processes),
                Evidence(what=f"processors usable on {host}", value=room),
            ],
            advice=(
                f"Threads that wait for a processor hold up all the others of their product: set {name} to "
                f"{max(1, int(room) // processes)}, or use fewer processes on a host."
            ),
        )
    ]
