"""What does the collectives library cost where it cannot help? One host, with it preloaded and without, in turn.

Each pair of launches gives a ratio; printed are their median and quartiles. Limit: 1.05.
usage: python benchmarks/collectives_local.py [--mpi NAME] [--pairs N] [--ranks N,N] [--bytes N,N]
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from collectives_jobs import Timer, folder
from quartiles import quartiles

OPERATIONS = ("broadcast", "allreduce", "barrier", "alltoall")
TOPOLOGY = """
format = 1
origin = "measured"
[[group]]
name = "here"
level = "cluster"
hosts = ["{host}"]
latency_s = 1e-6
bandwidth_bytes_per_s = 1e9
"""


def main() -> None:
    """Print one row per operation, ranks and size."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--pairs", type=int, default=15)
    arguments.add_argument("--ranks", default="2,4,8")
    arguments.add_argument("--bytes", default="0,1024,65536,1048576")
    arguments.add_argument("--operations", default=",".join(OPERATIONS))
    asked = arguments.parse_args()
    with folder() as place:
        timer = Timer.made(asked.mpi, Path(place))
        topology = Path(place) / "topology.toml"
        topology.write_text(TOPOLOGY.format(host=Path("/etc/hostname").read_text().strip()))
        print(f"{timer.mpi.name} {timer.mpi.version}, {asked.pairs} interleaved pairs of launches")
        print(
            f"{'operation':<11}{'ranks':>6}{'bytes':>9}{'own us':>11}{'preloaded us':>14}{'ratio':>8}   quartiles"
        )
        for operation in asked.operations.split(","):
            for ranks in map(int, asked.ranks.split(",")):
                for size in map(int, asked.bytes.split(",")) if operation != "barrier" else [0]:
                    row(timer, operation, ranks, size, asked.pairs, str(topology))


def row(timer: Timer, operation: str, ranks: int, size: int, pairs: int, topology: str) -> None:
    """Measure both in turn, each first in every second pair."""
    loop = (
        max(1, min(2000, 20_000_000 // (1000 + size * ranks))) if ranks == 2 else max(1, 50_000 // (1000 + size))
    )
    own, preloaded = [], []
    for pair in range(pairs):
        for with_library in (pair % 2 == 0, pair % 2 == 1):
            settings = {"SCOPE_TOPOLOGY": topology} if with_library else None
            seconds = timer.seconds(operation, size, ranks, 20, loop, settings)
            (preloaded if with_library else own).append(seconds)
    ratios = [one / other for one, other in zip(preloaded, own, strict=True)]
    low, middle, high = quartiles(ratios)
    print(
        f"{operation:<11}{ranks:>6}{size:>9}{statistics.median(own) * 1e6:>11.3f}"
        f"{statistics.median(preloaded) * 1e6:>14.3f}{middle:>8.3f}"
        f"   {low:.3f} to {high:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
