"""Whether the links of labs carry messages of every size at their declared rate.

For each kind of link: the rate of a TCP stream, and the one-way time (RTT/2) of messages in a ping-pong of TCP
next to the time of their frames (`fidelity.wire_s`). The overhead is what a message of one byte takes besides its
frame: in kernel, relays and program. Deviations are from the time of frames and overhead together.
Prints a Markdown table for docs/validation/labs.md.

    python benchmarks/lab_wires.py [--lab gamma --lab grid]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from hpcscope import units
from hpcscope.errors import ScopeError
from hpcscope.lab import description, emulation, fidelity
from hpcscope.lab.entry import Emulation
from hpcscope.machine.machine import EmulatedMessage

HEADINGS = ["lab", "link", "Mbit/s", "stream", "overhead", *(f"{size:,} B" for size in fidelity.MESSAGES_BYTES)]


def row(up: Emulation, name: str, probe: fidelity.LinkProbe) -> list[str]:
    """Return the cells of a link."""
    stream = fidelity.streamed(up, probe)
    least, *messages = fidelity.exchanged(up, probe, [1, *fidelity.MESSAGES_BYTES])
    overhead_s = least.measured_s - least.wire_s
    told = [name, probe.link, f"{probe.mbit_per_s:g}", units.change(stream.deviation)]
    return [*told, f"{overhead_s * 1e6:.0f} µs", *(cell(message, overhead_s) for message in messages)]


def cell(message: EmulatedMessage, overhead_s: float) -> str:
    """Return the frames' time of a message, its measured time, and the deviation."""
    deviation = message.measured_s / (message.wire_s + overhead_s) - 1
    return f"{message.wire_s * 1e6:,.0f} / {message.measured_s * 1e6:,.0f} µs, {units.change(deviation)}"


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    return f"{os.cpu_count()} cores of {model}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lab", action="append")
    asked = parser.parse_args()
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, {processor()}, load average {os.getloadavg()[0]:.2f}\n")
    print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}", flush=True)
    for known, lab in map(description.read, asked.lab or description.presets()):
        try:
            with emulation.temporary(f"{known}-wires", lab) as up:
                for probe in fidelity.probes(lab):
                    print(f"| {' | '.join(row(up, known, probe))} |", flush=True)
        except ScopeError as error:
            print(f"| {known} | {error} |", flush=True)
    print(f"\nload average at the end {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
