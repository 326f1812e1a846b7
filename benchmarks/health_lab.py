"""Whether `scope health` names injected faults of emulated hosts, and no other host.

Brings up a lab of equal hosts with disks of their own and injects none, one or three faults at a time, on hosts
that the seed chooses. All hosts share the processors of this machine and are visited one after the other, so that
a busy machine hides small losses. Prints a Markdown table for docs/validation/health.md, and the sums at the end.
usage: python benchmarks/health_lab.py [--minutes X] [--only NAME,...] [--seeds N] [--hosts N] [--no-links]
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hpcscope.lab import description, emulation, faults
from hpcscope.lab.entry import Emulation
from hpcscope.own_python import own_python

LAB = """
title = "Equal hosts with disks of their own"
[[group]]
name = "n"
hosts = {hosts}
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


def huge_pages(lab: Emulation, host: str) -> None:
    """Let the host's kernel seem to be set up in another way: a file over that of /sys."""
    fake = lab.folder / "fake-enabled"
    fake.write_text(
        "[always] madvise never\n" if "[always]" not in HUGE.read_text() else "always madvise [never]\n"
    )
    lab.run(host, ["mount", "--bind", str(fake), str(HUGE)])


def hang_soon(lab: Emulation, host: str) -> None:
    """Stop all that runs on the host once half of the check is over."""
    threading.Timer(MIDDLE_S, lambda: faults.slow_host(emulation.find(lab.state.name) or lab, host, 1.0)).start()


MIDDLE_S = 15.0
HUGE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
GROUP = Path("/sys/fs/cgroup/cpu/scope-health-lab")
FAULTS: dict[str, Callable[[Emulation, str], object]] = {
    "CPU quota of 5 % of a core": quota,
    "stopped 75 % of the time": lambda lab, host: faults.slow_host(lab, host, 0.75),
    "disk at 2 of 200 MB/s": lambda lab, host: faults.slow_disk(lab, host, 2),
    "port at 50 of 100 Mbit/s": lambda lab, host: faults.faulty_link(lab, host, "slow", 50),
    "cable that loses 2 % of frames": lambda lab, host: faults.faulty_link(lab, host, "lossy", 0.02),
    "MTU 1400": small_packets,
    "another setting of transparent huge pages (a file mounted over that in /sys)": huge_pages,
    "dead port": lambda lab, host: faults.faulty_link(lab, host, "dead"),
    "hangs": lambda lab, host: faults.slow_host(lab, host, 1.0),
    "hangs in the middle": hang_soon,
}
SCENARIOS: dict[str, tuple[str, ...]] = {
    "none": (),
    "quota": ("CPU quota of 5 % of a core",),
    "stolen": ("stopped 75 % of the time",),
    "disk": ("disk at 2 of 200 MB/s",),
    "port": ("port at 50 of 100 Mbit/s",),
    "cable": ("cable that loses 2 % of frames",),
    "mtu": ("MTU 1400",),
    "sys": ("another setting of transparent huge pages (a file mounted over that in /sys)",),
    "dead": ("dead port",),
    "hang": ("hangs",),
    "middle": ("hangs in the middle",),
    "three-nodes": ("disk at 2 of 200 MB/s", "CPU quota of 5 % of a core", "hangs"),
    "three": ("disk at 2 of 200 MB/s", "port at 50 of 100 Mbit/s", "hangs"),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--only", default=",".join(SCENARIOS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--no-links", action="store_true")
    options = parser.parse_args()
    print("| faults | named | missed | false | visible: arithmetic, disk write, read | time | node-seconds |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "equal.toml"
        file.write_text(LAB.format(hosts=options.hosts))
        sums = Counter[str]()
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            for name in options.only.split(","):
                hosts = random.Random(f"{name} {seed}").sample(
                    [f"n{k}" for k in range(2, options.hosts + 1)], len(SCENARIOS[name])
                )
                injected = dict(zip(hosts, SCENARIOS[name], strict=True))
                with emulation.temporary(*description.read(str(file))) as lab:
                    further = ["--minutes", f"{options.minutes:g}", *(["--no-links"] if options.no_links else [])]
                    print(row(lab, injected, further, Path(folder) / f"{name}-{seed}", sums), flush=True)
    print(f"\nnamed {sums['named']}, missed {sums['missed']}, false {sums['false']}")


def row(lab: Emulation, injected: dict[str, str], options: list[str], run: Path, sums: Counter[str]) -> str:
    """Inject faults, check the lab, and return a row of the table."""
    further: list[str] = []
    for host, fault in injected.items():
        current = emulation.find(lab.state.name)
        assert current is not None
        done = FAULTS[fault](current, host)
        further += done if isinstance(done, list) else []
    words = own_python("-m", "hpcscope", "health", *options, "--json", "--output", str(run))
    words += further
    begun = time.monotonic()
    done = subprocess.run(lab.command(words, "n1"), env=lab.environment, capture_output=True, text=True)
    took = time.monotonic() - begun
    assert done.stdout, done.stderr
    said = json.loads(done.stdout)
    nodes = said["nodes"]
    visits = json.loads((run / "health.json").read_text())["visits"]
    busy = sum(visit["ended_unix_s"] - visit["started_unix_s"] for visit in visits)
    paired = json.loads((run / "health.json").read_text())["links"]
    busy += 2 * sum(visit["ended_unix_s"] - visit["started_unix_s"] for visit in paired)
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
    sums.update(named=len(named), missed=len(missed), false=len(false))
    words_of = "; ".join(f"{host} {fault}" for host, fault in injected.items()) or "none"
    lists = ["; ".join(texts) or "-" for texts in (named, [f"{host} {injected[host]}" for host in missed], false)]
    seen = {one["check"]: one["smallest_slowness"] for one in said["visible"]}
    checks = ("arithmetic", "disk_write", "disk_read")
    visible = ", ".join("-" if seen.get(check) is None else f"{seen[check]:.0%}" for check in checks)
    return f"| {words_of} | {' | '.join(lists)} | {visible} | {took:.0f} s | {busy:.0f} |"


if __name__ == "__main__":
    main()
