"""What is left of the rate of a link that loses frames? TCP against active messages with and without flow control.

In the lab gamma (links of 1 Gbit/s) the port of one host loses a share of its frames; all three protocols are
measured in the same launches. A port with losses is a relay in user space, also at a loss of 0.
usage: python benchmarks/goodput_over_loss.py [--launches N] [--bytes N] [--mpi NAME]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LAB = "gamma"
LOSSES = (1e-9, 0.0001, 0.001, 0.003, 0.01, 0.03)
"""Shares of frames; the first one is a relay that loses none."""
WAYS = {
    "TCP": {"protocol": "tcp", "flow": "credits"},
    "active messages": {"protocol": "active_messages", "flow": "credits"},
    "without flow control": {"protocol": "active_messages", "flow": "none"},
}
WINDOW = 16


def main() -> None:
    """Print one row per share of frames that are lost."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--launches", type=int, default=3)
    arguments.add_argument("--bytes", type=int, default=65536)
    arguments.add_argument("--mpi", default="embedded")
    asked = arguments.parse_args()
    print(
        "".join([f"{'lost':>8}", *(f"{way:>32}" for way in WAYS)])
        + "   Mbit/s, and packets repeated per operation"
    )
    scope("lab", "up", LAB, "--no-check")
    try:
        for loss in LOSSES:
            scope("lab", "fault", LAB, "--host", "beowulf2", "--loss", str(loss))
            found = measured(asked)
            cells = [f"{8e-6 * found[way][0]:>18.0f} {found[way][1]:>13.1f}" for way in WAYS]
            print("".join([f"{loss:>8.2%}", *cells]), flush=True)
            scope("lab", "fault", LAB, "--clear")
    finally:
        scope("lab", "down", LAB)


def measured(asked: argparse.Namespace) -> dict[str, tuple[float, float]]:
    """Return of each way the bytes per second and the retransmitted packets of an operation."""
    common = f"network.bandwidth ranks=2 placement=node message_bytes={asked.bytes} window={WINDOW}"
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder) / "run")
        cases = [f"{common} protocol={way['protocol']} flow={way['flow']}" for way in WAYS.values()]
        words = [word for case in cases for word in ("--case", case)]
        fixed = [
            "--mpi",
            asked.mpi,
            "--launches",
            str(asked.launches),
            "--budget",
            "1",
            "--hosts",
            "beowulf1,beowulf2",
        ]
        scope("run", "--lab", LAB, *fixed, "-o", run, *words)
        rows = json.loads(scope("show", run, "--json"))
    return {
        way: (of(rows, chosen, "bandwidth_bytes_per_s"), of(rows, chosen, "retransmitted_packets"))
        for way, chosen in WAYS.items()
    }


def of(rows: list[dict[str, Any]], chosen: dict[str, str], metric: str) -> float:
    """Return the median of a metric of one way."""
    (row,) = (row for row in rows if row["metric"] == metric and chosen.items() <= row["parameters"].items())
    return float(row["median"])


def scope(*words: str) -> str:
    """Run a command of Scope and return what it printed."""
    command = [sys.executable, "-m", "scope", *words]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(command)}: {ended.stderr.strip()[-500:]}")
    return ended.stdout


if __name__ == "__main__":
    main()
