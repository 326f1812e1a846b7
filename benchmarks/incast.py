"""What does flow control save when all hosts send to one? Active messages with and without, in the lab gamma.

Three hosts put data into the memory of a process on the fourth, all through its switch port of 1 Gbit/s; both ways
in turn. Printed: seconds until all have arrived, share of repeated frames of the senders, and processor time.
usage: python benchmarks/incast.py [--launches N] [--bytes N] [--puts N]
"""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from hpcscope.lab import emulation
from hpcscope.lab.active import INTERFACE
from hpcscope.lab.description import read
from hpcscope.lab.entry import Emulation
from tests.active_messages.two_hosts import exchange_program, running, written

LAB = "gamma"
PATIENCE_S = 120


@dataclass(frozen=True)
class Incast:
    """One launch."""

    elapsed_s: float
    repeated: float
    """Share of all frames of the senders."""
    receiver_s: float
    """Processor time of the receiver, which polls while it waits."""
    senders_s: float


def main() -> None:
    """Print a line with and one without flow control."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--launches", type=int, default=5)
    arguments.add_argument("--bytes", type=int, default=4 << 20, help="of a put")
    arguments.add_argument("--puts", type=int, default=4, help="of each host")
    asked = arguments.parse_args()
    name, lab = read(LAB)
    found: dict[str, list[Incast]] = {"on": [], "off": []}
    with emulation.temporary(name, lab) as up:
        for launch in range(asked.launches):
            for flow in ("on", "off") if launch % 2 else ("off", "on"):
                found[flow].append(incast(up, flow, asked.bytes, asked.puts))
    print(f"{'flow control':<16}{'elapsed s':>12}{'repeated':>12}{'receiver s':>12}{'senders s':>12}")
    for flow, launches in found.items():
        cells = [
            f"{statistics.median(one.elapsed_s for one in launches):>12.3f}",
            f"{statistics.median(one.repeated for one in launches):>12.2%}",
            f"{statistics.median(one.receiver_s for one in launches):>12.2f}",
            f"{statistics.median(one.senders_s for one in launches):>12.2f}",
        ]
        print(f"{flow:<16}" + "".join(cells))


def incast(up: Emulation, flow: str, size: int, puts: int) -> Incast:
    """Let all hosts but the first send to the first."""
    program = str(exchange_program())
    first, *others = [host.name for host in up.state.hosts]
    key = secrets.token_hex(16)
    words = {first: ["answer", "0", str(len(others))], **{host: ["put", str(size), str(puts)] for host in others}}
    with ExitStack() as stack:
        processes = {
            host: stack.enter_context(
                running(up.command([program, INTERFACE, "packet", flow, *words[host]], host), env=up.environment)
            )
            for host in (first, *others)
        }
        addresses = {}
        for host, process in processes.items():
            print(key, file=written(process.stdin), flush=True)
            addresses[host] = written(process.stdout).readline().strip()
            assert addresses[host], written(process.stderr).read()
        for host, process in processes.items():
            print(addresses[others[0] if host == first else first], file=written(process.stdin), flush=True)
        ended = {}
        for host, process in processes.items():
            text, errors = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, errors
            ended[host] = json.loads(text.splitlines()[-1])
    senders: list[dict[str, Any]] = [ended[host] for host in others]
    return Incast(
        elapsed_s=max(sum(one["elapsed_s"]) for one in senders),
        repeated=sum(one["retransmissions"] for one in senders) / sum(one["frames_sent"] for one in senders),
        receiver_s=ended[first]["processor_s"],
        senders_s=sum(one["processor_s"] for one in senders),
    )


if __name__ == "__main__":
    main()
