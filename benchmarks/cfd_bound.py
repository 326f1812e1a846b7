"""How near the flow solver comes to memory or cache, and what it loses on several cores.

The bound of application.cfd is the time in which node.stream's copy moves 184 bytes per cell and step and 24
per cell and iteration (see the specification): the first in arrays that together are as large as all fields,
the second in arrays as large as the pressure and the divergence, which stay in a cache that has room. All in
the same pinned launches, in turn. Wanted for variant=tuned: at least 0.7 of the bound on one process, and an
efficiency of at least 0.9 on two cores at 64 cells per side. Where a field stays in a cache, arithmetic may be
the limit: its rate is printed, too. "Copies share" is the efficiency that the bound itself has when all cores copy
their parts at once: what several cores lose to a memory that they share.
Variables of the MPI in the environment count, such as OMPI_MCA_btl_vader_eager_limit=65536.
usage: python benchmarks/cfd_bound.py [--mpi NAME] [--launches N] [--steps N] [--sizes 32,64,128]
"""

from __future__ import annotations

import argparse
import os
import statistics
from typing import Any

from launches import Pair, of_slowest

STEP_BYTES, ITERATION_BYTES = 184, 24
"""Of a cell, at least: read and written."""
FIELDS = 12
"""That a step touches: velocities, rates, new velocities, pressure and divergence, and the pressure once more."""
WAYS = (
    "variant=tuned exchange=blocking",
    "variant=tuned exchange=overlapped",
    "variant=tuned exchange=shared_memory",
    "variant=plain exchange=blocking",
)


def main() -> None:
    """Print one row per size and way."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--launches", type=int, default=7)
    arguments.add_argument("--steps", type=int, default=10)
    arguments.add_argument("--sizes", default="32,64,128")
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    cores = len(os.sched_getaffinity(0))
    print(f"{asked.launches} launches, {asked.steps} steps; bound over measured time; efficiency on {cores} cores")
    print(
        f"{'size':>6}{'copy GB/s':>11}{'of two':>8}{'bound ms':>10}  {'way':<40}{'ms':>9}{'Gflop/s':>9}"
        f"{'of bound':>10}{'efficiency':>12}{'copies share':>14}"
    )
    for size in [int(word) for word in asked.sizes.split(",")]:
        measure(pair, size, asked.steps, cores, asked.launches)


def copies(cells: int) -> list[str]:
    """Return copies among as many bytes as all fields of so many cells have, and as pressure and divergence."""
    return [f"node.stream kernel=copy array_bytes={8 * cells * n} sampling.budget_s=0.2" for n in (FIELDS // 2, 1)]


def byte_times(copied: list[dict[str, Any]], cells: int) -> tuple[float, float]:
    """Return the seconds per byte of both copies, on the slowest rank."""
    large, small = (of_slowest(each, None) for each in copied)
    return large / (8 * FIELDS * cells), small / (16 * cells)


def bound(cells: int, steps: int, iterations: float, step_byte_s: float, byte_s: float) -> float:
    """Return the seconds in which memory and cache move what all steps and iterations must."""
    return cells * (STEP_BYTES * steps * step_byte_s + ITERATION_BYTES * iterations * byte_s)


def measure(pair: Pair, size: int, steps: int, cores: int, launches: int) -> None:
    """Run all ways of one size on one process and on all cores, a copy before each, and print their ratios."""
    cells = size**3
    case = f"application.cfd n={size} steps={steps} sampling.budget_s=0.5"
    found: dict[str, dict[str, list[float]]] = {way: {} for way in WAYS}
    for _ in range(launches):
        alone = pair.measured([line for way in WAYS for line in (*copies(cells), f"{case} {way}")], 1)
        shared = pair.measured(
            [line for way in WAYS for line in (*copies(cells // cores), f"{case} {way}")], cores
        )
        for i, way in enumerate(WAYS):
            *copied, one = alone[3 * i : 3 * i + 3]
            *copied_by_all, several = shared[3 * i : 3 * i + 3]
            iterations = one["series"][0]["observed"]["iterations"][0][0]
            step_byte_s, byte_s = byte_times(copied, cells)
            bound_s = bound(cells, steps, iterations, step_byte_s, byte_s)
            bound_of_all_s = bound(cells // cores, steps, iterations, *byte_times(copied_by_all, cells // cores))
            time_s = of_slowest(one, None)
            values = {
                "copy": 1e-9 / step_byte_s,
                "cached": 1e-9 / byte_s,
                "bound": bound_s,
                "time": time_s,
                "rate": one["work"]["flops"] / time_s,
                "share": bound_s / time_s,
                "efficiency": time_s / (cores * of_slowest(several, None)),
                "copies": bound_s / (cores * bound_of_all_s),
            }
            for name, value in values.items():
                found[way].setdefault(name, []).append(value)
    for way in WAYS:
        median = {name: statistics.median(values) for name, values in found[way].items()}
        print(
            f"{size:>6}{median['copy']:>11.1f}{median['cached']:>8.1f}{median['bound'] * 1e3:>10.1f}  {way:<40}"
            f"{median['time'] * 1e3:>9.1f}{median['rate'] / 1e9:>9.2f}"
            f"{median['share']:>10.2f}{median['efficiency']:>12.2f}{median['copies']:>14.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
