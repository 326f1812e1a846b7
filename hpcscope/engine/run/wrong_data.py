"""Reproduces wrong data with minimal programs in the run's directory, without Scope's own program."""

import subprocess
from pathlib import Path

from hpcscope.build.single_source import compiled
from hpcscope.engine.run.measurement import Setup
from hpcscope.errors import ScopeError
from hpcscope.findings.results import Run
from hpcscope.findings.run.mpi.wrong_data import by_routine
from hpcscope.launch import wrong_data
from hpcscope.launch.cluster import Cluster, run_to_end
from hpcscope.launch.launcher import MpiProgram
from hpcscope.plan.case import Case
from hpcscope.rundirectory import RunDirectory, write_text

PATIENCE_S = 60.0


def show_again(directory: RunDirectory, setup: Setup) -> None:
    """Write, compile and run a program for each routine that delivered wrong data, if there is such a program."""
    run = Run(directory.path)
    for called, visits in by_routine(run).items():
        case = max((visit.case for visit in visits), key=lambda case: wrong_data.sizes(case, run.benchmarks))
        text = wrong_data.source(case, run.benchmarks)
        if text is not None:
            directory.wrong_data.mkdir(exist_ok=True)
            source = directory.wrong_data / f"{called}.c"
            write_text(source, text)
            sizes = wrong_data.sizes(case, run.benchmarks)
            write_text(source.with_suffix(".txt"), said(source, case, sizes, setup.cluster))


def said(source: Path, case: Case, sizes: list[int], cluster: Cluster) -> str:
    """Return what the program prints when started like the case, or why it does not run."""
    mpi = cluster.site.mpi
    if not mpi.compiles:
        return "not compiled: no compiler for this MPI is here\n"
    try:
        program = compiled(source, [mpi.compiler], [mpi.name, mpi.version])
        crowded = cluster.place.oversubscribes(case.ranks, case.placement)
        words = tuple(map(str, sizes))
        again = MpiProgram(str(program), words, case.ranks, case.transport, oversubscribed=crowded)
        start = cluster.start(again, case.placement)
        ended = run_to_end(start, PATIENCE_S)
    except (ScopeError, OSError, subprocess.TimeoutExpired) as error:
        return f"{error}\n"
    return ended.stdout + ended.stderr
