"""What does Scope add to ScaLAPACK? algorithm.scalapack_lu against a plain program with the same calls, in turn.

plain_scalapack.cpp is compiled here with the MPI, the ScaLAPACK and the BLAS of the native program; it solves
systems of the same kind on the same grid, and times factorization and solution alike. Each pair of launches gives
a ratio of medians, a repetition that warms up left out. Wanted: below 1 % more.
usage: python benchmarks/scalapack_overhead.py [--mpi NAME] [--ranks 1,2] [--sizes 1000,2000] [--block 64]
       [--pairs N]
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
from pathlib import Path

import numpy as np
from launches import HERE, Pair, of_slowest

from hpcscope.build import native
from hpcscope.machine.machine import NativeBuild
from hpcscope.statistics.order_statistics import median_interval

REPETITIONS = 6


def main() -> None:
    """Print one row for each number of ranks and size."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mpi")
    arguments.add_argument("--ranks", default="1,2")
    arguments.add_argument("--sizes", default="1000,2000")
    arguments.add_argument("--block", type=int, default=64)
    arguments.add_argument("--pairs", type=int, default=9)
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    program = compiled(pair, native.build(pair.mpi))
    # As a run of Scope has it: one thread for each rank.
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    print(f"{pair.mpi.name} {pair.mpi.version}, block {asked.block}, {asked.pairs} interleaved pairs of launches")
    print(f"{'ranks':>5}{'n':>7}{'own ms':>10}{'plain ms':>10}{'more':>9}   interval")
    for ranks in map(int, asked.ranks.split(",")):
        for n in map(int, asked.sizes.split(",")):
            own, plain = [], []
            for number in range(asked.pairs):
                for first in (number % 2 == 0, number % 2 == 1):
                    if first:
                        own.append(own_s(pair, n, asked.block, ranks))
                    else:
                        plain.append(plain_s(pair, program, n, asked.block, ranks))
            ratios = np.array(own) / np.array(plain)
            interval = median_interval(ratios)
            words = f"[{interval.low - 1:+.2%}, {interval.high - 1:+.2%}]" if interval else ""
            print(
                f"{ranks:>5}{n:>7}{statistics.median(own) * 1e3:>10.2f}{statistics.median(plain) * 1e3:>10.2f}"
                f"{np.median(ratios) - 1:>+9.2%}   {words}",
                flush=True,
            )


def compiled(pair: Pair, build: NativeBuild) -> str:
    """Compile the plain program for the libraries of the native one; its BLAS comes before ScaLAPACK's own."""
    if build.scalapack is None or build.blas is None:
        raise SystemExit(f"{pair.mpi.name} {pair.mpi.version}: no ScaLAPACK or no BLAS for it was found")
    if build.scalapack.mpi_name:
        raise SystemExit(
            f"{build.scalapack.library} asks for MPI by another name; choose the MPI that it was made for"
        )
    names = Path(build.program).with_name("libblas-names.so")
    algebra = str(names) if names.exists() else build.blas.library
    program = str(Path(pair.directory.name) / "plain_scalapack")
    source = native.source_directory() / "src"
    libraries = ["-Wl,--no-as-needed", algebra, build.scalapack.library]
    folders = [f"-Wl,-rpath,{Path(library).parent}" for library in (algebra, build.scalapack.library)]
    parts = [str(HERE / "plain_scalapack.cpp"), str(source / "memory" / "buffer.cpp")]
    words = [pair.mpi.compiler, "-std=c++20", "-O2", f"-I{source}", *parts]
    subprocess.run([*words, "-o", program, *libraries, *folders], check=True)
    return program


def own_s(pair: Pair, n: int, block: int, ranks: int) -> float:
    """Return the median time of one launch of the benchmark."""
    many = f"sampling.minimum_repetitions={REPETITIONS} sampling.maximum_repetitions={REPETITIONS}"
    (record,) = pair.measured([f"algorithm.scalapack_lu n={n} block={block} {many}"], ranks)
    if record["status"] != "ok":
        raise SystemExit(f"algorithm.scalapack_lu on {ranks}: {record['status']}: {record['reason']}")
    return of_slowest(record, None)


def plain_s(pair: Pair, program: str, n: int, block: int, ranks: int) -> float:
    """Return the median time of one launch of the plain program, on the squarest grid, without its first."""
    rows = max(each for each in range(1, math.isqrt(ranks) + 1) if ranks % each == 0)
    printed = pair.start(program, [str(n), str(block), str(rows), str(REPETITIONS)], ranks)
    return statistics.median(float(line) for line in printed.split()[1:])


if __name__ == "__main__":
    main()
