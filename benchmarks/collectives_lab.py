"""What do the collectives gain over a slow trunk, and is it what the estimate claims? In an emulated cluster.

Per size: seconds of MPI's own and of ours, in turn; the factor between them beside the one that the estimates
claim (within 15 %); ours against its estimate and against the physical limit (within 5 % for broadcasts).
usage: python benchmarks/collectives_lab.py [--lab grid] [--mpi NAME] [--operation NAME] [--bytes N,N] [--pairs N]
       [--algorithms]    each algorithm against its estimate instead
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

from collectives_jobs import Timer, folder

from hpcscope.lab import active, emulation
from hpcscope.lab.description import read
from hpcscope.topology import topology as topologies
from hpcscope.topology.estimate import estimate


def main() -> None:
    """Bring the lab up, go inside, and print one row per size."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--lab", default="grid")
    arguments.add_argument("--mpi")
    arguments.add_argument("--operation", default="broadcast")
    arguments.add_argument("--bytes", default="65536,262144,1000000,4000000")
    arguments.add_argument("--pairs", type=int, default=3)
    arguments.add_argument("--algorithms", action="store_true")
    asked = arguments.parse_args()
    if active.active() is None:
        name, lab = read(asked.lab)
        with emulation.temporary(name, lab) as up:
            first = lab.hosts()[0].name
            command = up.command([sys.executable, __file__, *sys.argv[1:]], first)
            raise SystemExit(subprocess.run(command, env=up.environment, check=False).returncode)
    inside(asked)


def inside(asked: argparse.Namespace) -> None:
    """Measure, on the first host of the lab."""
    from hpcscope.topology.declared import declared

    lab = active.active()
    assert lab is not None
    with folder() as place:
        timer = Timer.made(asked.mpi, Path(place))
        topology = Path(place) / "topology.toml"
        topology.write_text(topologies.write(declared(lab.description)))
        hosts = [host.name for host in lab.description.hosts() for _ in range(host.slots)]
        print(f"{timer.mpi.name} {timer.mpi.version}, lab {asked.lab}, {asked.operation}, {len(hosts)} ranks")
        for size in map(int, asked.bytes.split(",")):
            estimates = estimated(timer, topology, asked.operation, size, hosts)
            if asked.algorithms:
                by_algorithm(timer, topology, asked, size, hosts, estimates)
            else:
                by_size(timer, topology, asked, size, hosts, estimates)


def estimated(timer: Timer, topology: Path, operation: str, size: int, hosts: list[str]) -> dict[str, float]:
    """Seconds of every algorithm, of the library, of the limit, and of what is chosen."""
    found = estimate(timer.built.estimator, topology, operation, size, hosts)
    chosen = next(one.seconds for one in found.values() if one.chosen)
    return {name: one.seconds for name, one in found.items()} | {"chosen": chosen}


def by_size(
    timer: Timer,
    topology: Path,
    asked: argparse.Namespace,
    size: int,
    hosts: list[str],
    estimates: dict[str, float],
) -> None:
    """Print MPI's own beside ours."""
    own, ours = [], []
    for pair in range(asked.pairs):
        for with_library in (pair % 2 == 0, pair % 2 == 1):
            settings = {"SCOPE_TOPOLOGY": str(topology)} if with_library else None
            seconds = timer.seconds(asked.operation, size, len(hosts), repetitions(estimates), 1, settings)
            (ours if with_library else own).append(seconds)
    taken = estimates["chosen"]
    factor, claimed = statistics.median(own) / statistics.median(ours), estimates["library"] / taken
    mine = statistics.median(ours)
    print(
        f"{size:>9} B  own {statistics.median(own):8.4f} s  ours {mine:8.4f} s  factor {factor:6.3f}"
        f"  claimed {claimed:6.3f} ({factor / claimed - 1:+.1%})  own to its estimate"
        f" {statistics.median(own) / estimates['library'] - 1:+.1%}  ours to its estimate {mine / taken - 1:+.1%}"
        f"  to the limit {mine / max(estimates['limit'], 1e-9) - 1:+.1%}",
        flush=True,
    )


def by_algorithm(
    timer: Timer,
    topology: Path,
    asked: argparse.Namespace,
    size: int,
    hosts: list[str],
    estimates: dict[str, float],
) -> None:
    """Print each algorithm, forced, beside its estimate."""
    for name, seconds in estimates.items():
        if name in ("limit", "chosen"):
            continue
        settings = {"SCOPE_TOPOLOGY": str(topology), "SCOPE_COLLECTIVES": f"{asked.operation}={name}"}
        taken = timer.seconds(asked.operation, size, len(hosts), repetitions(estimates), 1, settings)
        print(
            f"{size:>9} B  {name:<24} {taken:9.4f} s  estimate {seconds:9.4f} s  ({taken / seconds - 1:+.1%})",
            flush=True,
        )


def repetitions(estimates: dict[str, float]) -> int:
    """As many as fit a few seconds, an odd number."""
    return max(1, min(21, int(4 / max(estimates["library"], 1e-3)))) // 2 * 2 + 1


if __name__ == "__main__":
    main()
