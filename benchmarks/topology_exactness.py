"""Is the topology found exactly? Every lab, healthy and with something slow, the hosts in another order each time.

For each seed the hosts are listed in a random order, a host's port or a trunk is made ten times slower (or as many
times as `--slower` says), and `scope topology discover` runs in the lab. Exact means: the groups are the switches,
buses are buses, the exceptions are the slowed host and nothing else, and the check that was held out passed.

    python benchmarks/topology_exactness.py [--labs grid,sgi] [--seeds 20] [--faults healthy,port,trunk]
        [--slower 3]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import sysconfig
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from hpcscope.errors import UsageError
from hpcscope.lab import description, emulation, faults
from hpcscope.lab.description import Lab
from hpcscope.lab.entry import Emulation

SCOPE = Path(sysconfig.get_path("scripts")) / "scope"
PATIENCE_S = 900.0


def groups(lab: Lab) -> set[frozenset[str]]:
    """Return the hosts of every switch."""
    plugged = defaultdict(set)
    for host in lab.hosts():
        plugged[lab.group_of(host.group).plugged_into].add(host.name)
    return {frozenset(hosts) for hosts in plugged.values()}


def buses(lab: Lab) -> set[frozenset[str]]:
    shared = {group.plugged_into for group in lab.group if lab.shared_mbit_per_s(group.plugged_into) is not None}
    return {
        frozenset(host.name for host in lab.hosts() if lab.group_of(host.group).plugged_into == bus)
        for bus in shared
    }


def slowed(up: Emulation, fault: str, times: float, rng: random.Random) -> tuple[Emulation, str]:
    """Make something so many times slower; return the lab and what it was."""
    lab = up.state.description
    if fault == "port":
        host = rng.choice(lab.hosts())
        rate = lab.group_of(host.group).port_mbit_per_s / times
        return faults.faulty_link(up, host.name, "slow", rate), host.name
    if fault == "trunk":
        trunk = rng.choice(lab.trunk)
        return faults.faulty_link(up, trunk.name, "slow", trunk.total_mbit_per_s / times), trunk.name
    return up, ""


def applies(lab: Lab, fault: str) -> bool:
    """Say whether a lab can have this fault: a bus has one rate for all, and not every lab has trunks."""
    return fault == "healthy" or (fault == "port" and not lab.switch) or (fault == "trunk" and bool(lab.trunk))


def problems(lab: Lab, where: str, found: dict[str, Any]) -> list[str]:
    """Return what is not as it should be."""
    leaves = [group for group in found["topology"]["group"] if group["hosts"]]
    wrong = []
    if {frozenset(group["hosts"]) for group in leaves} != groups(lab):
        wrong.append(f"groups {[group['hosts'] for group in leaves]}")
    if {frozenset(group["hosts"]) for group in leaves if group["medium"] == "shared"} != buses(lab):
        wrong.append("buses")
    slow = {host.name for host in lab.hosts() if host.name == where}
    if (exceptions := {each["host"] for each in found["topology"]["exception"]}) != slow:
        wrong.append(f"exceptions {sorted(exceptions)}")
    if not found["check"]["passed"]:
        wrong.append(f"check off by {found['check']['median_error']:.2f}")
    if wrong:
        least = min((group["confidence"] for group in leaves if group.get("confidence") is not None), default=None)
        wrong.append(f"least confidence {least}")
    return wrong


def discovered(up: Emulation, order: list[str], mpi: str, seed: int) -> dict[str, Any]:
    first = up.state.hosts[0].name
    words = [str(SCOPE), "topology", "discover", "--mpi", mpi, "--json", "-o", "/dev/null"]
    answer = up.run(first, [*words, "--hosts", ",".join(order), "--seed", str(seed)], timeout=PATIENCE_S)
    if answer.returncode not in (0, 1) or not answer.stdout:
        raise SystemExit(f"{' '.join(words)}: {answer.stderr.strip()}")
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--labs", default=",".join(description.presets()))
    parser.add_argument("--faults", default="healthy,port,trunk")
    parser.add_argument("--slower", type=float, default=10.0)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--mpi", default="embedded")
    asked = parser.parse_args()
    exact = total = 0
    print(f"{'lab':12} {'fault':9} {'where':14} seed {'transfers':>9} {'seconds':>8}  verdict")
    for name in asked.labs.split(","):
        known, lab = description.read(name)
        with emulation.temporary(f"{known}-exact", lab) as up:
            for fault in asked.faults.split(","):
                for seed in range(1, asked.seeds + 1) if applies(lab, fault) else []:
                    rng = random.Random(f"{name} {fault} {seed}")
                    order = [f"{host.name}:{host.slots}" for host in rng.sample(lab.hosts(), len(lab.hosts()))]
                    try:
                        faulty, where = slowed(up, fault, asked.slower, rng)
                    except UsageError as refusal:  # what uses a relay takes no further fault
                        print(f"{name:12} {fault:9} not possible: {refusal}", flush=True)
                        break
                    begun_s = time.monotonic()
                    try:
                        found = discovered(faulty, order, asked.mpi, seed)
                    finally:
                        up = faults.clear(faulty)
                    wrong = problems(lab, where, found)
                    exact, total = exact + (not wrong), total + 1
                    cost = f"{found['transfers']:9} {time.monotonic() - begun_s:8.1f}"
                    print(
                        f"{name:12} {fault:9} {where:14} {seed:4} {cost}  {'; '.join(wrong) or 'exact'}",
                        flush=True,
                    )
    print(f"exact: {exact} of {total}")
    sys.exit(exact < total)


if __name__ == "__main__":
    main()
