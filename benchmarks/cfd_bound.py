"""How near the flow solver comes to memory or cache, and what it loses on several cores.

The bound of application.cfd is the time in which node.stream's copy moves 184 bytes per cell and step and 24
per cell and iteration (see the specification): the first in arrays that together are as large as all fields,
the second in arrays as large as the pressure and the divergence, which stay in a cache that has room. All in
the same pinned launches, in turn. Wanted for variant=tuned: at least 0.7 of the bound on one process, and an
efficiency of at least 0.9 on two cores at 64 cells per side. Where a field stays in a cache, arithmetic may be
the limit: its rate is printed, too.
usage: python benchmarks/cfd_bound.py [--mpi NAME] [--launches N] [--steps N] [--sizes 32,64,128]
"""

from __future__ import annotations

import argparse
import os
import statistics

from launches import Pair, of_slowest

STEP_BYTES, ITERATION_BYTES = 184, 24
"""Of a cell, at least: read and written."""
FIELDS = 12
"""That a step touches: velocities, rates, new velocities, pressure and divergence, and the pressure once more."""
WAYS = (
    "variant=tuned exchange=blocking",
    "variant=tuned exchange=overlapped",
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
        f"{'size':>6}{'copy GB/s':>11}{'of two':>8}{'bound ms':>10}  {'way':<36}{'ms':>9}{'Gflop/s':>9}"
        f"{'of bound':>10}{'efficiency':>12}"
    )
    for size in [int(word) for word in asked.sizes.split(",")]:
        measure(pair, size, asked.steps, cores, asked.launches)


def measure(pair: Pair, size: int, steps: int, cores: int, launches: int) -> None:
    """Run all ways of one size on one process and on all cores, a copy before each, and print their ratios."""
    cells = size**3
    case = f"application.cfd n={size} steps={steps} sampling.budget_s=0.5"
    copies = [
        f"node.stream kernel=copy array_bytes={8 * cells * n} sampling.budget_s=0.2" for n in (FIELDS // 2, 1)
    ]
    found: dict[str, dict[str, list[float]]] = {way: {} for way in WAYS}
    for _ in range(launches):
        alone = pair.measured([line for way in WAYS for line in (*copies, f"{case} {way}")], 1)
        shared = pair.measured([f"{case} {way}" for way in WAYS], cores)
        for way, large, small, one, several in zip(WAYS, *(alone[i::3] for i in range(3)), shared, strict=True):
            step_byte_s = of_slowest(large, None) / (8 * FIELDS * cells)
            byte_s = of_slowest(small, None) / (16 * cells)
            iterations = one["series"][0]["observed"]["iterations"][0][0]
            bound_s = cells * (STEP_BYTES * steps * step_byte_s + ITERATION_BYTES * iterations * byte_s)
            time_s = of_slowest(one, None)
            values = {
                "copy": 1e-9 / step_byte_s,
                "cached": 1e-9 / byte_s,
                "bound": bound_s,
                "time": time_s,
                "rate": one["work"]["flops"] / time_s,
                "share": bound_s / time_s,
                "efficiency": time_s / (cores * of_slowest(several, None)),
            }
            for name, value in values.items():
                found[way].setdefault(name, []).append(value)
    for way in WAYS:
        median = {name: statistics.median(values) for name, values in found[way].items()}
        print(
            f"{size:>6}{median['copy']:>11.1f}{median['cached']:>8.1f}{median['bound'] * 1e3:>10.1f}  {way:<36}"
            f"{median['time'] * 1e3:>9.1f}{median['rate'] / 1e9:>9.2f}"
            f"{median['share']:>10.2f}{median['efficiency']:>12.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
