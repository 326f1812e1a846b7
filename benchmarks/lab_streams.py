"""Whether the links of a lab keep their rates when several streams run at once, and what the streams cost.

One stream, then more, up to half as many as there are hosts: the share of the declared rate of the slowest and
the fastest, and the processor time of everything, relays included, per second.

    python benchmarks/lab_streams.py [--lab o2]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

import psutil

from hpcscope.lab import description, emulation, fidelity
from hpcscope.lab.entry import Emulation

STREAM_S = 2.0
LIMITLESS_BYTES = 1 << 30
PATIENCE_S = 30.0


def shares(up: Emulation, streams: int) -> tuple[list[float], float]:
    """Return the share of the declared rate that each stream had, and how many processors were busy."""
    lab = up.state.description
    hosts = lab.hosts()
    pairs = list(zip(hosts[::2], hosts[1::2], strict=False))[:streams]
    python = [sys.executable, "-I", "-S", str(fidelity.STREAM)]
    before, begun_s = psutil.cpu_times(), time.monotonic()
    receivers = [up.started(b.name, [*python, "receive", b.data_address]) for _, b in pairs]
    senders = []
    for (a, b), receiver in zip(pairs, receivers, strict=True):
        assert receiver.stdout is not None
        port = receiver.stdout.readline().strip()
        words = ["send", b.data_address, port, str(STREAM_S), str(LIMITLESS_BYTES)]
        senders.append(up.started(a.name, [*python, *words]))
    ended = [json.loads(receiver.communicate(timeout=PATIENCE_S)[0]) for receiver in receivers]
    for sender in senders:
        sender.wait(PATIENCE_S)
    after, seconds = psutil.cpu_times(), time.monotonic() - begun_s
    idle = (after.idle - before.idle + after.iowait - before.iowait) / seconds
    found = [
        stream["bytes"]
        / stream["seconds"]
        / (lab.group_of(a.group).port_mbit_per_s * 1e6 / 8 * fidelity.PAYLOAD_SHARE)
        for (a, _), stream in zip(pairs, ended, strict=True)
    ]
    return found, (os.cpu_count() or 1) - idle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lab", default="o2")
    asked = parser.parse_args()
    known, lab = description.read(asked.lab)
    print(f"{'streams':>7} {'slowest':>8} {'fastest':>8} {'processors':>10}")
    with emulation.temporary(f"{known}-streams", lab) as up:
        for streams in range(1, len(lab.hosts()) // 2 + 1):
            found, busy = shares(up, streams)
            print(f"{streams:7} {min(found):8.3f} {max(found):8.3f} {busy:10.2f}", flush=True)


if __name__ == "__main__":
    main()
