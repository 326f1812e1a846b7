"""How near the shallow water model comes to the rates of its parts, and what it loses on several cores.

The bound of a step adds three times: of the Fourier transforms, by pocketfft (scipy.fft) on as many real lines; of
the Legendre transforms, at the rate of node.matrix_multiply or, where that takes longer, of one reading of the
tabulated functions for each direction at the bandwidth of node.stream; of the products, one reading and writing of
all fields at that bandwidth. All in turn, pinned. Wanted for variant=tuned: at least 0.7 of the bound, and an
efficiency of at least 0.9 on two cores at T85, with exchange=blocking or, in the last column, shared_memory.
Variables of the MPI in the environment count, such as OMPI_MCA_btl_vader_single_copy_mechanism=none.
usage: python benchmarks/shallow_water_bound.py [--mpi NAME] [--launches N] [--resolutions T42,T85] [--levels 1,4]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
import scipy.fft
from launches import Pair, of_slowest

GRIDS = {"T21": (21, 64, 32), "T42": (42, 128, 64), "T63": (63, 192, 96)}
GRIDS |= {"T85": (85, 256, 128), "T106": (106, 320, 160), "T170": (170, 512, 256)}
"""Truncation, longitudes and latitudes."""
TO_GRID, FROM_GRID = 4, 5
"""Fields that a step transforms in each direction."""
STEPS = 12


def main() -> None:
    """Print one row per size."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--launches", type=int, default=5)
    arguments.add_argument("--resolutions", default="T42,T85,T170")
    arguments.add_argument("--levels", default="1,4,16")
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    cores = len(os.sched_getaffinity(0))
    print(
        f"{asked.launches} launches; times of a step in ms; bound over measured time; efficiency on {cores} cores"
    )
    columns = ("FFT", "Legendre", "products", "bound", "tuned", "plain", "of bound", "efficiency", "by memory")
    print(f"{'size':>6}{'levels':>8}" + "".join(f"{name:>11}" for name in columns))
    for resolution in asked.resolutions.split(","):
        for levels in map(int, asked.levels.split(",")):
            measure(pair, resolution, levels, cores, asked.launches)


def measure(pair: Pair, resolution: str, levels: int, cores: int, launches: int) -> None:
    """Measure one size, its parts in the same launches, and print its row."""
    truncation, longitudes, latitudes = GRIDS[resolution]
    fields = (TO_GRID + FROM_GRID) * levels
    operations = fields * (truncation + 1) * (truncation + 4) * latitudes
    table_bytes = 2 * (truncation + 1) * (truncation + 4) * latitudes
    field_bytes = 8 * fields * longitudes * latitudes
    case = f"application.shallow_water resolution={resolution} levels={levels} steps={STEPS} sampling.budget_s=0.5"
    lines = [
        "node.matrix_multiply n=512 sampling.budget_s=0.2",
        f"node.stream kernel=copy array_bytes={max(table_bytes, field_bytes) // 2} sampling.budget_s=0.2",
        f"{case} variant=tuned",
        f"{case} variant=plain",
    ]
    parts: dict[str, list[float]] = {}
    for _ in range(launches):
        matrix, copy, tuned, plain = pair.measured(lines, 1)
        on_all = f"{case} variant=tuned grid_rows={cores}"
        blocking, shared = pair.measured([on_all, f"{on_all} exchange=shared_memory"], cores)
        flops_per_s = 2 * 512**3 / of_slowest(matrix, None)
        copied = max(table_bytes, field_bytes) // 2 * 2
        bytes_per_s = copied / of_slowest(copy, None)
        found = {
            "FFT": lines_s(longitudes, latitudes * levels),
            "Legendre": max(operations / flops_per_s, 2 * table_bytes / bytes_per_s),
            "products": field_bytes / bytes_per_s,
            "tuned": of_slowest(tuned, None) / STEPS,
            "plain": of_slowest(plain, None) / STEPS,
        }
        found["bound"] = found["FFT"] + found["Legendre"] + found["products"]
        found["of bound"] = found["bound"] / found["tuned"]
        for name, several in (("efficiency", blocking), ("by memory", shared)):
            found[name] = found["tuned"] / (cores * of_slowest(several, None) / STEPS)
        for name, value in found.items():
            parts.setdefault(name, []).append(value)
    median = {name: statistics.median(values) for name, values in parts.items()}
    times = "".join(
        f"{median[name] * 1e3:>11.3f}" for name in ("FFT", "Legendre", "products", "bound", "tuned", "plain")
    )
    ratios = "".join(f"{median[name]:>11.2f}" for name in ("of bound", "efficiency", "by memory"))
    print(f"{resolution:>6}{levels:>8}{times}{ratios}", flush=True)


def lines_s(points: int, lines: int) -> float:
    """Return the seconds of pocketfft for the real lines of a step: 4 fields to the grid, 5 from it."""
    grid = np.random.default_rng(0).normal(size=(lines, points))
    spectrum = scipy.fft.rfft(grid)
    return TO_GRID * fastest(lambda: scipy.fft.irfft(spectrum, points)) + FROM_GRID * fastest(
        lambda: scipy.fft.rfft(grid)
    )


def fastest(work: Callable[[], object], times: int = 7) -> float:
    """Return the median time of a piece of work in s."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
