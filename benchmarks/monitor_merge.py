"""How long do the profiles of a large program take? 1,024 synthetic ones merged, explained and reported.

usage: python benchmarks/monitor_merge.py [--ranks N] [--rounds N] [--keep FOLDER]

Each process has 300 rows of calls at 60 places, 26 partners, 400 rows of its time series, and a file of the size
that the monitor makes. Wanted for 1,024: less than 10 s and 1 GB for `scope analyze`, page and findings included.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from hpcscope.programs.profiles.profile import HEADER_BYTES  # noqa: E402
from tests.profiles import synthetic  # noqa: E402
from tests.profiles.synthetic import Process  # noqa: E402

CALLS, PLACES, PARTNERS, COURSE = 300, 60, 26, 400
PAGE = 4096


def main() -> None:
    """Print the time and the largest resident memory."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--ranks", type=int, default=1024)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--keep", type=Path, default=None)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary) / "run"
        write(folder, asked.ranks)
        times = []
        for _ in range(asked.rounds):
            started = time.perf_counter()
            words = [sys.executable, "-m", "hpcscope", "analyze", str(folder)]
            subprocess.run(words, cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - started)
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        written = {name: (folder / name).stat().st_size for name in ("profile.json", "report.html")}
    print(f"{asked.ranks} profiles: median {statistics.median(times):.2f} s, largest {max(times):.2f} s")
    print(f"largest resident memory {largest / 1e6:.0f} MB")
    print(", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in written.items()))


def write(folder: Path, ranks: int) -> None:
    """Write the folder of a monitored run of so many processes."""
    synthetic.ROWS.update(calls=8192, waits=1024, partners=4096, sites=2048, timeline=1024)
    synthetic.monitored(folder, [])
    template = bytearray(synthetic.contents(process(ranks)))
    offset = dict(synthetic.layout())["partners"]
    dtype = synthetic.packed("partners")
    for rank in range(ranks):
        one = Process(rank=rank, ranks=ranks, host=f"node{rank // 64}")
        data = bytearray(template)
        text = synthetic.header(one, 1000 + rank)
        data[:HEADER_BYTES] = text.ljust(HEADER_BYTES, b"\0")
        for place in range(PARTNERS):
            row = np.zeros((), dtype)
            row["used"], row["rank"] = 1, (rank + (place + 1) ** 2) % ranks
            row["sent_messages"] = row["received_messages"] = 100
            row["sent_bytes"] = row["received_bytes"] = 1_000_000
            start = offset + place * synthetic.STRIDES["partners"]
            data[start : start + dtype.itemsize] = row.tobytes()
        sparse(folder / "profiles" / f"{one.host}.{1000 + rank}.profile", data)


def process(ranks: int) -> Process:
    """Return what every process did."""
    one = Process(ranks=ranks).add("modules", begin=1 << 20, end=1 << 24, bias=1 << 20, path=b"/opt/app")
    for place in range(PLACES):
        one.add("sites", depth=3, frames=[(1 << 20) + 64 * (3 * place + depth) for depth in range(3)] + [0] * 5)
    names = ("MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Bcast")
    for number in range(CALLS):
        one.call(names[number % 7], 0.01, 100, 8 << number % 20, site=number % PLACES, region=number // 250)
    step_s = one.wall_s / COURSE
    for number in range(COURSE):
        times = {"begin_tick": synthetic.tick(number * step_s), "end_tick": synthetic.tick((number + 1) * step_s)}
        one.add("timeline", **times, mpi_ticks=int(3e8 * step_s), user_s=step_s, resident_bytes=10**8)
    return one


def sparse(path: Path, data: bytearray) -> None:
    """Write a file as the monitor does: pages that nobody touched take no place."""
    empty = bytes(PAGE)
    with path.open("wb") as file:
        file.truncate(len(data))
        for start in range(0, len(data), PAGE):
            if data[start : start + PAGE] != empty[: len(data) - start]:
                file.seek(start)
                file.write(data[start : start + PAGE])


if __name__ == "__main__":
    main()
