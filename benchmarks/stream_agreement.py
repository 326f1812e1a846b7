"""Does the framework add anything on a node? node.stream over a plain loop, node.matrix_multiply over the BLAS.

Interleaved, pinned launches of one rank; the ratio of the medians over launches, with the quartiles of the ratios
of pairs. Wanted: within 3 %.
usage: python benchmarks/stream_agreement.py [--mpi NAME] [--launches N]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

from launches import Pair, seconds
from quartiles import quartiles

from scope.build import blas

TRIADS = {1 << 13: (128, 200), 1 << 22: (1, 60), 1 << 26: (1, 25)}
"""Passes in a loop, and loops. A loop lasts about as long as one of Scope's repetitions."""
PRODUCTS = {100: (1, 200), 500: (1, 50), 1000: (1, 15)}


def main() -> None:
    """Print one row per size of the arrays and of the matrices."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--launches", type=int, default=11)
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    plain = pair.compiled("plain_node.c")
    print(f"{asked.launches} interleaved launches of each, pinned")
    print(f"{'figure':<20}{'size':>10}{'Scope us':>12}{'plain us':>12}{'ratio':>8}   quartiles of pairs")

    def started(*words: object) -> float:
        printed = pair.start(plain, [str(word) for word in words], ranks=1)
        return statistics.median(float(line) for line in printed.split())

    for size, (passes, loops) in TRIADS.items():
        line = f"node.stream kernel=triad array_bytes={size}"
        row(pair, line, size, lambda s=size, p=passes, n=loops: started("triad", s, p, n), asked.launches)
    library = blas.find(pair.mpi.compiler)
    if library is None:
        print("no BLAS was found")
        return
    print(blas.described(library))
    for size, (calls, loops) in PRODUCTS.items():
        line = f"node.matrix_multiply n={size}"
        words = ("dgemm", size, calls, loops, library.library, f"{library.prefix}dgemm_")
        row(pair, line, size, lambda w=words: started(*w), asked.launches)


def row(pair: Pair, line: str, size: int, plain: Callable[[], float], launches: int) -> None:
    """Measure one size both ways, in turn, and print the medians and their ratio."""
    ours: list[float] = []
    theirs: list[float] = []
    case = f"{line} sampling.budget_s=1 sampling.precision=0.002"
    for launch in range(launches):
        both = [
            lambda: ours.append(seconds(pair.measured([case], ranks=1)[0])),
            lambda: theirs.append(plain()),
        ]
        for measure in both if launch % 2 else reversed(both):
            measure()
    ratio = statistics.median(ours) / statistics.median(theirs)
    low, _, high = quartiles([one / other for one, other in zip(ours, theirs, strict=True)])
    print(
        f"{line.split()[0]:<20}{size:>10}{statistics.median(ours) * 1e6:>12.3f}"
        f"{statistics.median(theirs) * 1e6:>12.3f}{ratio:>8.3f}   {low:.3f} to {high:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
