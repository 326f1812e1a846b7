"""Does the framework add anything on a node? node.stream over a plain loop, node.matrix_multiply over the BLAS.

Interleaved, pinned launches of one rank; the median of the ratios of pairs, with its 95 % interval. Exit code 1
where an interval lies outside 0.97 to 1.03; one that is wider than that is undecided.
usage: python benchmarks/stream_agreement.py [--mpi NAME] [--launches N]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from functools import partial

from launches import Pair, seconds
from verdict import TITLES, alternated, summary

from hpcscope.build import blas

TRIADS = {1 << 13: (128, 200), 1 << 22: (1, 60), 1 << 26: (1, 25)}
"""Passes in a loop, and loops. A loop lasts about as long as one of Scope's repetitions."""
PRODUCTS = {100: (1, 200), 500: (1, 50), 1000: (1, 15)}


def main() -> int:
    """Print one row per size of the arrays and of the matrices; return the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--launches", type=int, default=11)
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    plain = pair.compiled("plain_node.c")
    print(f"{asked.launches} interleaved launches of each, pinned")
    print(f"{'figure':<20}{'size':>10}{TITLES}")
    words = []

    def started(*words: object) -> float:
        printed = pair.start(plain, [str(word) for word in words], ranks=1)
        return statistics.median(float(line) for line in printed.split())

    for size, (passes, loops) in TRIADS.items():
        line = f"node.stream kernel=triad array_bytes={size}"
        plain_s = partial(started, "triad", size, passes, loops)
        words.append(row(pair, line, size, plain_s, asked.launches))
    library = blas.find(pair.mpi.compiler)
    if library is None:
        print("no BLAS was found")
        return summary(words)
    print(blas.described(library))
    for size, (calls, loops) in PRODUCTS.items():
        line = f"node.matrix_multiply n={size}"
        plain_s = partial(started, "dgemm", size, calls, loops, library.library, f"{library.prefix}dgemm_")
        words.append(row(pair, line, size, plain_s, asked.launches))
    return summary(words)


def row(pair: Pair, line: str, size: int, plain: Callable[[], float], launches: int) -> str:
    """Measure one size both ways, in turn, print the medians and their ratio, and return the verdict."""
    case = f"{line} sampling.budget_s=1 sampling.precision=0.002"
    found = alternated(lambda: seconds(pair.measured([case], ranks=1)[0]), plain, launches)
    print(f"{line.split()[0]:<20}{size:>10}{found.columns()}", flush=True)
    return found.word


if __name__ == "__main__":
    sys.exit(main())
