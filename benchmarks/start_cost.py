"""Time, memory, files opened and bytes written: what does a launch cost for each rank, to know of large jobs.

Ranks of one host start under its MPI, `true` and the native program in turn; a straight line over the ranks gives
the cost of one more. With strace the files that a rank opens are counted.
usage: PYTHONPATH=. python benchmarks/start_cost.py [--ranks 2,4,8,16] [--repetitions N]
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from hpcscope.build import installations, native

PLAN = """# scope plan format=2 seed=1 module=standard
mpi.barrier call=blocking sampling.budget_s=0.01 sampling.maximum_repetitions=10
"""


def main() -> None:
    """Start more and more ranks and print what each one more costs."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--ranks", default="2,4,8,16")
    arguments.add_argument("--repetitions", type=int, default=5)
    asked = arguments.parse_args()
    counts = [int(word) for word in asked.ranks.split(",")]
    mpi = installations.find(None)
    program = native.build(mpi).program
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "plan.txt").write_text(PLAN)

        def start(ranks: int, words: list[str], around: list[str] | None = None) -> float:
            begin = time.perf_counter()
            command = [*(around or []), str(mpi.launcher), "-n", str(ranks), *words]
            subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True, timeout=300)
            return time.perf_counter() - begin

        def measure() -> list[str]:
            (folder / "samples.jsonl").unlink(missing_ok=True)
            return [str(program), "--plan=plan.txt", "--output=samples.jsonl", "--placement=none"]

        print(f"{mpi.name} {mpi.version}, {Path(program).stat().st_size / 1e6:.1f} MB of program")
        print(f"{'ranks':>6}{'start':>10}{'measure':>10}{'launch line':>14}{'case line':>12}")
        starts, whole, lines = [], [], []
        for ranks in counts:
            pairs = [(start(ranks, ["true"]), start(ranks, measure())) for _ in range(asked.repetitions)]
            alone, with_program = (float(np.median(column)) for column in zip(*pairs, strict=True))
            launch, case = ((folder / "samples.jsonl").read_text().splitlines())[:2]
            starts.append(alone)
            whole.append(with_program)
            lines.append((len(launch), len(case)))
            print(f"{ranks:>6}{alone:>8.2f} s{with_program:>8.2f} s{len(launch):>12} B{len(case):>10} B")
        slopes = [float(np.polyfit(counts, column, 1)[0]) for column in (starts, whole, *zip(*lines, strict=True))]
        print(
            f"one more rank: {slopes[0] * 1e3:.1f} ms to start, {slopes[1] * 1e3:.1f} ms with the program, ",
            end="",
        )
        print(f"{slopes[2]:.0f} B of the launch's line and {slopes[3]:.0f} B of a case's")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"largest memory of one process: {peak:.0f} MB")
        if shutil.which("strace"):
            opened = [_opened(folder, lambda words, n=ranks: start(n, measure(), words)) for ranks in (2, 6)]
            print(f"one more rank opens {(opened[1] - opened[0]) / 4:.0f} files")


def _opened(folder: Path, run: object) -> int:
    """Return how many files were opened, without those of the kernel and those that are not there."""
    trace = folder / "trace"
    run(["strace", "-f", "-qq", "-e", "trace=open,openat", "-o", str(trace)])
    kernel = ('"/sys/', '"/proc/', '"/dev/')
    lines = trace.read_text().splitlines()
    return sum("= -1" not in line and not any(place in line for place in kernel) for line in lines)


if __name__ == "__main__":
    main()
