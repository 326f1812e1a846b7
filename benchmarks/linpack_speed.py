"""Is algorithm.linpack as fast as HPL? Rates of both in interleaved launches, on the same MPI, grid and block.

HPL is built elsewhere, with the MPI that is named and with the BLAS of Scope: `libblas-names.so` beside
the native program (`scope build` names its folder) gives HPL's linker the usual names of the embedded OpenBLAS.
For each size and number of ranks every block is run by both in turn; the ratio is that of the medians, each at its
own best block; the quartiles are those of the ratios of neighboring launches. Wanted: at least 1.
usage: python benchmarks/linpack_speed.py --hpl XHPL [--mpi NAME] [--ranks N,...] [--sizes N,...] [--blocks N,...]
       [--launches N]
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
from pathlib import Path

from launches import Pair, of_slowest
from quartiles import quartiles

HPL_DAT = """HPL.dat of benchmarks/linpack_speed.py
one line that is not read
HPL.out output file
6 device out
1 number of problem sizes
{n} Ns
1 number of NBs
{block} NBs
0 mapping: along rows
1 number of grids
{rows} Ps
{columns} Qs
16.0 threshold
1 number of panel factorizations
2 right-looking
1 number of stopping criteria
8 NBMINs
1 number of panels in recursion
2 NDIVs
1 number of recursive factorizations
2 right-looking
1 number of broadcasts
1 ring modified
1 number of depths
1 DEPTHs
2 swap: mix
64 swapping threshold
0 L1 transposed
0 U transposed
1 equilibration
8 alignment
"""


def main() -> None:
    """Print one row per number of ranks and size."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hpl", type=Path, required=True)
    arguments.add_argument("--mpi")
    arguments.add_argument("--ranks", type=numbers, default=[1, 2, 4])
    arguments.add_argument("--sizes", type=numbers, default=[2000, 4000, 8000])
    arguments.add_argument("--blocks", type=numbers, default=[64, 128, 192])
    arguments.add_argument("--launches", type=int, default=5)
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    print(
        f"{asked.launches} launches, {pair.mpi.name} {pair.mpi.version}, Gflop/s at the best of NB={asked.blocks}"
    )
    print(f"{'ranks':>5}{'n':>7}{'linpack':>9}{'NB':>5}{'HPL':>9}{'NB':>5}{'ratio':>7} quartiles")
    for ranks in asked.ranks:
        for size in asked.sizes:
            ours: dict[int, list[float]] = {block: [] for block in asked.blocks}
            theirs: dict[int, list[float]] = {block: [] for block in asked.blocks}
            for _ in range(asked.launches):
                for block in asked.blocks:
                    ours[block].append(linpack(pair, size, block, ranks))
                    theirs[block].append(hpl(pair, asked.hpl.resolve(), size, block, ranks))
            mine = max(ours, key=lambda block: statistics.median(ours[block]))
            other = max(theirs, key=lambda block: statistics.median(theirs[block]))
            ratios = [a / b for a, b in zip(ours[mine], theirs[other], strict=True)]
            low, _, high = quartiles(ratios)
            a, b = statistics.median(ours[mine]), statistics.median(theirs[other])
            row = f"{ranks:>5}{size:>7}{a:>9.2f}{mine:>5}{b:>9.2f}{other:>5}{a / b:>7.3f}"
            print(f"{row} {low:.3f} to {high:.3f}", flush=True)


def numbers(text: str) -> list[int]:
    """Return the numbers of a list."""
    return [int(each) for each in text.split(",")]


def linpack(pair: Pair, size: int, block: int, ranks: int) -> float:
    """Return the rate of one launch in Gflop/s: one repetition after one that warms up, as HPL has none."""
    line = f"algorithm.linpack n={size} block={block} sampling.budget_s=0.01 sampling.maximum_repetitions=2"
    (record,) = pair.measured([line], ranks)
    assert record["status"] == "ok", record["reason"]
    return (2 / 3 * size + 3 / 2) * size * size / of_slowest(record, None) / 1e9


def hpl(pair: Pair, program: Path, size: int, block: int, ranks: int) -> float:
    """Return the rate of one run of HPL in Gflop/s, after one that warms up in the same launch."""
    rows = max(each for each in range(1, math.isqrt(ranks) + 1) if ranks % each == 0)
    folder = Path(pair.directory.name)
    text = HPL_DAT.format(n=f"{size} {size}", block=block, rows=rows, columns=ranks // rows)
    (folder / "HPL.dat").write_text(text.replace("1 number of problem sizes", "2 number of problem sizes"))
    printed = pair.start(str(program), [], ranks, folder)
    assert printed.count("PASSED") == 2, printed
    rates = re.findall(r"^W\S+\s+\d+\s+\d+\s+\d+\s+\d+\s+\S+\s+(\S+)", printed, re.MULTILINE)
    return float(rates[-1])


if __name__ == "__main__":
    main()
