"""The native program itself on thousands of simulated ranks: processor time and memory for each rank.

    python benchmarks/simulated_scale.py [--ranks 64,256,1024] [--limit SECONDS] [--case 'mpi.barrier' ...]

Needs SimGrid (Debian: libsimgrid-dev). A barrier, a broadcast, an allreduce and an all-to-all (or the given cases)
run on one rank per host, with clock synchronization, common starts and verification as in any run; each has one
repetition, as in `scope simulate` on over 512 ranks. Exit code 1 where a case fails, or
where the memory of a rank at the most ranks is over twice that at the fewest.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hpcscope.build import installations, native
from hpcscope.launch.launcher import MpiProgram
from hpcscope.simulation.description import HEAD
from hpcscope.simulation.start import Simulator

CASES = (
    "mpi.barrier",
    "mpi.broadcast message_bytes=1024",
    "mpi.allreduce message_bytes=1024",
    "mpi.alltoall message_bytes=8",
)
SAMPLING = "sampling.minimum_repetitions=1 sampling.maximum_repetitions=1"
MOST_BYTES = 20 << 30
FLAT = 2.0


def cluster(ranks: int) -> str:
    """Return a platform of so many hosts around a switch: 1 Gbit/s and 50 us between each two."""
    return (
        f'{HEAD}<platform version="4.1"><cluster id="all" prefix="host" suffix="" radical="0-{ranks - 1}" '
        'speed="1Gf" bw="125MBps" lat="25us"/></platform>\n'
    )


def main() -> int:
    """Simulate each number of ranks and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--ranks", default="64,256,1024")
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--case", action="append", help="a case as in a plan; may be repeated")
    asked = parser.parse_args()
    cases = asked.case or CASES
    build = native.build(installations.find("simgrid"))
    memory_of: dict[int, float] = {}
    well = True
    print(f"{'ranks':>6} {'real s':>8} {'processor s':>12} {'memory MB':>10} {'KB per rank':>12}  cases")
    for ranks in map(int, asked.ranks.split(",")):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "platform.xml").write_text(cluster(ranks))
            plan, samples = folder / "plan.txt", folder / "samples.jsonl"
            plan.write_text("".join(f"{case} {SAMPLING}\n" for case in cases))
            hosts = [f"host{number}" for number in range(ranks)]
            platform = folder / "platform.xml"
            simulator = Simulator(build.mpi.launcher, platform, hosts, "ompi", 1e9, MOST_BYTES, folder)
            words = ("--action=run", f"--plan={plan}", f"--output={samples}", "--origin=simulated")
            command = simulator.command(MpiProgram(build.program, words, ranks), folder / "hosts", computes=False)
            started_s = time.monotonic()
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            process = subprocess.Popen(command.arguments, stdout=subprocess.DEVNULL)
            try:
                process.wait(asked.limit)
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait()
                print(f"{ranks:>6} not finished within {asked.limit:g} s")
                return 1
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            memory_of[ranks] = after.ru_maxrss / ranks  # of the largest child so far: numbers of ranks must grow
            lines = [json.loads(line) for line in samples.read_text().splitlines()] if samples.exists() else []
            statuses = [line["status"] for line in lines if line["record"] == "case"]
            well = well and statuses == ["ok"] * len(cases)
            print(
                f"{ranks:>6} {time.monotonic() - started_s:>8.1f} {used_s:>12.1f} {after.ru_maxrss / 1e3:>10.0f} "
                f"{memory_of[ranks]:>12.0f}  {' '.join(statuses) or process.returncode}",
                flush=True,
            )
    fewest, most = min(memory_of), max(memory_of)
    flat = memory_of[most] <= FLAT * memory_of[fewest]
    print(f"memory of a rank on {most} ranks: {memory_of[most] / memory_of[fewest]:.2f} times that on {fewest}")
    return 0 if well and flat else 1


if __name__ == "__main__":
    os.nice(5)
    sys.exit(main())
