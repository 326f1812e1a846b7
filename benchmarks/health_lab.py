"""Whether `scope health` names injected faults of emulated hosts, and no other host.

Brings up a lab of 8 hosts with disks of their own and injects none, one or three faults at a time. All hosts share
the processors of this machine and are visited one after the other, so that a busy machine hides small losses.
Prints a Markdown table for docs/validation/health.md.
usage: python benchmarks/health_lab.py [--minutes X] [--only NAME]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hpcscope.lab import description, emulation, faults
from hpcscope.lab.entry import Emulation
from hpcscope.own_python import own_python

LAB = """
title = "Eight equal hosts with disks of their own"
[[group]]
name = "n"
hosts = 8
rate_mbit_per_s = 100
[storage]
kind = "local"
disk_mb = 96
disk_mb_per_s = 200
"""


def small_packets(lab: Emulation, host: str) -> None:
    lab.run(host, ["ip", "link", "set", "eth0", "mtu", "1400"])


def quota(lab: Emulation, host: str) -> list[str]:
    """Let all that is started on a host share 5 % of a processor; control groups of version 1, of root."""
    GROUP.mkdir(exist_ok=True)
    (GROUP / "cpu.cfs_period_us").write_text("100000")
    (GROUP / "cpu.cfs_quota_us").write_text("5000")
    shell = lab.folder / "quota-shell"
    shell.write_text(
        f'#!/bin/sh\n[ "$1" = {host} ] && echo $$ >{GROUP}/cgroup.procs\nexec {lab.state.remote_shell} "$@"\n'
    )
    shell.chmod(0o755)
    return ["--remote-shell", str(shell)]


GROUP = Path("/sys/fs/cgroup/cpu/scope-health-lab")
FAULTS: dict[str, Callable[[Emulation, str], object]] = {
    "CPU quota of 5 % of a core": quota,
    "disk at 2 of 200 MB/s": lambda lab, host: faults.slow_disk(lab, host, 2),
    "MTU 1400": small_packets,
    "hangs": lambda lab, host: faults.slow_host(lab, host, 1.0),
}
SCENARIOS: dict[str, dict[str, str]] = {
    "none": {},
    "slow": {"n3": "CPU quota of 5 % of a core"},
    "disk": {"n5": "disk at 2 of 200 MB/s"},
    "mtu": {"n2": "MTU 1400"},
    "hang": {"n7": "hangs"},
    "three": {"n5": "disk at 2 of 200 MB/s", "n2": "MTU 1400", "n7": "hangs"},
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--only")
    options = parser.parse_args()
    print("| faults | named | missed | false | visible: arithmetic, disk write, read | time | node-seconds |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "eight.toml"
        file.write_text(LAB)
        for name, injected in SCENARIOS.items():
            if options.only in (None, name):
                with emulation.temporary(*description.read(str(file))) as lab:
                    print(row(lab, injected, options.minutes, Path(folder) / name), flush=True)


def row(lab: Emulation, injected: dict[str, str], minutes: float, run: Path) -> str:
    """Inject faults, check the lab, and return a row of the table."""
    further: list[str] = []
    for host, fault in injected.items():
        current = emulation.find(lab.state.name)
        assert current is not None
        done = FAULTS[fault](current, host)
        further += done if isinstance(done, list) else []
    words = own_python("-m", "hpcscope", "health", "--minutes", f"{minutes:g}", "--json", "--output", str(run))
    words += further
    begun = time.monotonic()
    done = subprocess.run(lab.command(words, "n1"), env=lab.environment, capture_output=True, text=True)
    took = time.monotonic() - begun
    said = json.loads(done.stdout)
    nodes = said["nodes"]
    visits = json.loads((run / "health.json").read_text())["visits"]
    busy = sum(visit["ended_unix_s"] - visit["started_unix_s"] for visit in visits)
    odd = {node["host"]: node for node in nodes if node["verdict"] != "healthy"}
    named = [
        f"{host} {odd[host]['verdict']}: {odd[host]['evidence'][0]['what']}" for host in injected if host in odd
    ]
    false = [
        f"{host} {odd[host]['verdict']}: {odd[host]['evidence'][0]['what']}"
        for host in odd
        if host not in injected
    ]
    missed = [host for host in injected if host not in odd]
    words_of = "; ".join(f"{host} {fault}" for host, fault in injected.items()) or "none"
    lists = ["; ".join(texts) or "-" for texts in (named, [f"{host} {injected[host]}" for host in missed], false)]
    seen = {one["check"]: one["smallest_slowness"] for one in said["visible"]}
    visible = ", ".join(f"{seen[check]:.0%}" for check in ("arithmetic", "disk_write", "disk_read"))
    return f"| {words_of} | {' | '.join(lists)} | {visible} | {took:.0f} s | {busy:.0f} |"


if __name__ == "__main__":
    main()
