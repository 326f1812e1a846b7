"""What the monitor costs a call, and a program.

A call: the extra time of MPI_ over PMPI_, block by block in one process, under the monitor and under a wrapper
that only reads the register clock twice (monitor_clocks.cpp), in processes that take turns. Wanted: at most 1.5
times that wrapper. A program: the wall clock with the monitor over that without, in runs that take turns. Wanted:
less than 1 %.
usage: python benchmarks/monitor_cost.py [--mpi NAME] [--rounds N] [--program "COMMAND ..."]
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from hpcscope.build import installations, monitor
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command
from hpcscope.machine.machine import MpiInstallation
from hpcscope.statistics.order_statistics import median_interval

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Print what each kind of call costs; with --program, what a program loses."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--program", help="a command in one string, with its mpiexec")
    asked = arguments.parse_args()
    mpi = installations.find(asked.mpi)
    library = monitor.build(mpi)
    with tempfile.TemporaryDirectory() as folder:
        if asked.program:
            slow_down(shlex.split(asked.program), library, Path(folder), asked.rounds)
        else:
            cost_of_calls(mpi, library, Path(folder), asked.rounds)


def cost_of_calls(mpi: MpiInstallation, library: Path, folder: Path, rounds: int) -> None:
    """Print the extra ns of a call under both, and their ratio with its interval over the rounds."""
    program, clocks = folder / "monitor_cost", folder / "clocks.so"
    flags = ["-std=c++20", "-O2", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    subprocess.run([mpi.compiler, *flags, HERE / "monitor_cost.cpp", "-o", program], check=True)
    subprocess.run(
        [mpi.compiler, *flags, "-shared", "-fPIC", HERE / "monitor_clocks.cpp", "-o", clocks], check=True
    )
    under: dict[str, dict[str, list[float]]] = {"clocks": {}, "monitor": {}, "nothing": {}}
    for _ in range(rounds):
        for name, file in (("clocks", clocks), ("monitor", library), ("nothing", None)):
            # A copy of its own: where in memory a file lies changes a call's time by up to 8 %.
            preloaded = Path(shutil.copyfile(file, folder / f"{name}-copy.so")) if file else None
            for line in started(mpi, program, folder, preloaded).splitlines():
                kind, extra = line.split()
                under[name].setdefault(kind, []).append(float(extra))
            if preloaded:
                preloaded.unlink()
    print(
        f"{'call':<12}{'nothing ns':>12}{'clocks ns':>12}{'monitor ns':>12}{'ratio':>8}  95 % of the median ratio"
    )
    for kind, least in under["clocks"].items():
        ratios = [mine / theirs for mine, theirs in zip(under["monitor"][kind], least, strict=True)]
        low, high = _interval(ratios)
        medians = [statistics.median(under[name][kind]) for name in ("nothing", "clocks", "monitor")]
        row = "".join(f"{value:>12.1f}" for value in medians)
        print(f"{kind:<12}{row}{statistics.median(ratios):>8.2f}  {low:.2f} to {high:.2f}")


def started(mpi: MpiInstallation, program: Path, folder: Path, preloaded: Path | None) -> str:
    """Return what one pinned process of the program prints."""
    settings = (f"SCOPE_MONITOR={folder}", *((f"LD_PRELOAD={preloaded}",) if preloaded else ()))
    job = MpiProgram("/usr/bin/env", (*settings, str(program)), 1, binding="core")
    command = start_command(job, Site(mpi, mpi.launcher))
    environment = {**os.environ, **command.environment}
    return subprocess.run(
        command.arguments, env=environment, capture_output=True, text=True, check=True, timeout=300
    ).stdout


def slow_down(command: list[str], library: Path, folder: Path, rounds: int) -> None:
    """Print how much longer a program takes under the monitor."""
    ratios = []
    for turn in range(rounds):
        walls = {}
        for monitored in (turn % 2 == 0, turn % 2 == 1):
            environment = {**os.environ}
            if monitored:
                environment |= {"SCOPE_MONITOR": str(folder), "LD_PRELOAD": str(library)}
            begin = time.perf_counter()
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            walls[monitored] = time.perf_counter() - begin
        ratios.append(walls[True] / walls[False])
        print(
            f"  {walls[False]:.3f} s without, {walls[True]:.3f} s with the monitor: {ratios[-1]:.4f}", flush=True
        )
    low, high = _interval(ratios)
    print(f"median {statistics.median(ratios):.4f}, 95 %: {low:.4f} to {high:.4f}")


def _interval(values: list[float]) -> tuple[float, float]:
    interval = median_interval(np.array(values))
    return (interval.low, interval.high) if interval else (min(values), max(values))


if __name__ == "__main__":
    main()
