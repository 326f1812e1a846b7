"""Do the transports of network.* add anything? Their figures over plain C loops', launch by launch.

TCP and UDP against a loop over sockets, the shared-memory queue against one cache line that goes to and fro
between the same two cores. Interleaved and pinned; the median of the ratios of pairs, with its 95 %
interval.
usage: python benchmarks/transport_agreement.py [--mpi NAME] [--launches N] [--protocol NAME]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
from pathlib import Path

from launches import HERE, Pair, seconds
from verdict import TITLES, alternated

ROWS = [
    ("tcp", "latency", 1, 0.03),
    ("tcp", "latency", 1024, 0.03),
    ("tcp", "latency", 65536, 0.03),
    ("tcp", "stream", 65536, 0.03),
    ("tcp", "stream", 1048576, 0.03),
    ("udp", "latency", 1, 0.03),
    ("udp", "latency", 1024, 0.03),
    ("udp", "latency", 32768, 0.03),
    ("shm", "latency", 8, 0.30),
]
"""Protocol, exchange, message size, and by how much the ratio may be above 1."""
ITERATIONS = {("tcp", "latency"): 25, ("udp", "latency"): 25, ("shm", "latency"): 100, ("tcp", "stream"): 1}
"""In a loop: about as long as one of Scope's repetitions, so that both medians see interruptions alike."""
DATAGRAM_BYTES = 16
"""What Scope's datagrams carry to be numbered; the plain loop's are as long."""
LOOPS = 1000
"""Ten times fewer for streams, whose loops are long."""


def main() -> None:
    """Print one row per protocol, exchange and size."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--launches", type=int, default=11)
    arguments.add_argument("--protocol", choices=["tcp", "udp", "shm"], help="only this one")
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    plain = str(Path(pair.directory.name) / "plain_transports")
    subprocess.run(["cc", "-O2", "-pthread", HERE / "plain_transports.c", "-o", plain], check=True)
    print(f"{pair.mpi.name} {pair.mpi.version} places, {asked.launches} interleaved launches of each, pinned")
    print(f"{'protocol':<10}{'exchange':<10}{'bytes':>9}{TITLES}")
    for protocol, exchange, size, allowed in ROWS:
        if asked.protocol in (None, protocol):
            row(pair, plain, protocol, exchange, size, allowed, asked.launches)


def row(pair: Pair, plain: str, protocol: str, exchange: str, size: int, allowed: float, launches: int) -> None:
    """Measure one row both ways, in turn, and print the medians, their ratio and whether it is within bounds."""
    benchmark = "network.latency" if exchange == "latency" else "network.bandwidth"
    line = f"{benchmark} protocol={protocol} message_bytes={size} sampling.budget_s=1 sampling.precision=0.002"
    loops = LOOPS if exchange == "latency" else LOOPS // 10
    sent = size + DATAGRAM_BYTES if protocol == "udp" else size
    words = [str(sent), str(ITERATIONS[protocol, exchange]), str(loops), "0", "1"]
    command = [plain, "line" if protocol == "shm" else protocol, exchange, *words]
    hops = 2 if exchange == "latency" else 1
    found = alternated(lambda: seconds(pair.measured([line])[0], hops), lambda: median_of(command), launches)
    within = "within" if found.ratio <= 1 + allowed else "above"
    print(f"{protocol:<10}{exchange:<10}{size:>9}{found.columns()}   {within} {1 + allowed:.2f}", flush=True)


def median_of(command: list[str]) -> float:
    """Return the median over the lines that a plain loop prints."""
    printed = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    return statistics.median(float(text) for text in printed.split())


if __name__ == "__main__":
    main()
