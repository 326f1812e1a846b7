"""How long does the report of a run of 10,000 hosts take, and a page of the site? Limits: 5 min, 4 GB, 8 MB.

The run is generated: collectives on 2 to 8,192 processes, one on each host, a matrix of pairs, random pairs of all
hosts, of which one, a switch and a path between two switches are slow, streams and an algorithm on all of them.
Each command is a process of its own, whose time includes starting the interpreter.
Of one with 4,096 hosts the limits are 10 s, 1 GB and 2 MB: a page of the site is made while somebody waits.
usage: PYTHONPATH=. python benchmarks/large_run.py [--hosts N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from hpcscope.models.communication.random_pairs import partners
from hpcscope.samples.samples import Floats
from hpcscope.topology import topology
from tests import golden_run as golden
from tests.declared import described

HOSTS = 10_000
LAUNCHES = 6
MOST_KEPT = 256
"""Ranks up to which the native program keeps every time; above, extremes of all and times of a few."""
KEPT = 32
CORES = 16
"""Of a host; the streams use them all."""
PAIRS = 64
"""Processes whose pairs are measured."""
PER_SWITCH, PER_GROUP = 32, 512
"""Hosts of a switch and of a group of switches."""
ROUNDS = 96
SLOW_HOST, SLOW_SWITCH, SLOW_PATH = 1234, 3, (5, 20)
SLOWER = 1.3


@dataclass(frozen=True)
class Limits:
    """What a command may take on a run of so many hosts."""

    seconds: float
    memory_bytes: float
    page_bytes: int


LIMITS = {4096: Limits(10.0, 1e9, 2_000_000)}
LARGEST = Limits(300.0, 4e9, 8_000_000)


def main() -> None:
    """Generate the run, analyse, report and publish it."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hosts", type=int, default=HOSTS)
    arguments.add_argument("--folder", type=Path)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as temporary:
        folder = Path(temporary)
        run, kept, site = folder / "large", folder / "repository", folder / "site"
        begin = time.perf_counter()
        write(run, asked.hosts)
        size = sum(file.stat().st_size for file in run.iterdir())
        print(f"{asked.hosts} hosts: {size / 1e6:.0f} MB, generated in {time.perf_counter() - begin:.0f} s")
        missed = []
        limits = next((each for most, each in LIMITS.items() if asked.hosts <= most), LARGEST)
        for words, limited in (
            (["analyze", str(run)], limits is LARGEST),
            (["report", str(run)], True),
            (["repository", "add", str(run), "--in", str(kept)], False),
            (["site", str(site), "--in", str(kept), "--reports", "0"], True),
            (["site", str(site), "--in", str(kept)], True),
        ):
            seconds, processor_s, most_bytes = took(words)
            times = f"{seconds:8.1f} s ({processor_s:.1f} s of a processor)"
            print(f"scope {words[0]:<12}{times}{most_bytes / 1e9:8.2f} GB")
            if limited and (seconds > limits.seconds or most_bytes > limits.memory_bytes):
                missed.append(words[0])
        report = (run / "report.html").stat().st_size
        largest = max((page for page in site.rglob("*.*") if page.parent.name != "reports"), key=_size)
        print(
            f"report {report / 1e6:.2f} MB, largest page of the site {_size(largest) / 1e3:.0f} kB, {largest.name}"
        )
        missed += [largest.name] * (_size(largest) > limits.page_bytes)
        missed += ["report.html"] * (report > limits.page_bytes)
    raise SystemExit(f"beyond a limit: {', '.join(missed)}" if missed else 0)


def _size(file: Path) -> int:
    return file.stat().st_size


def took(words: list[str]) -> tuple[float, float, float]:
    """Run a command and return its time and its processor's time in s, and its largest memory in bytes."""
    begin = time.perf_counter()
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "hpcscope", *words],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"scope {' '.join(words)}: exit code {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024.0


def write(directory: Path, hosts: int, launches: int = LAUNCHES) -> Path:
    """Write the raw files of a run of so many hosts and return its path."""
    directory.mkdir(parents=True)
    random = np.random.default_rng(1)
    plan = ["# scope plan format=2 seed=1 module=standard"]
    clock_s = golden.STARTED
    with (directory / "samples.jsonl").open("w") as samples:

        def put(record: dict[str, Any]) -> None:
            samples.write(json.dumps(record, separators=(",", ":")) + "\n")

        number = 0
        for _ in range(launches):
            for ranks, batch in batches(hosts).items():
                number += 1
                plan.append(f"launch {number} ranks={ranks} transport=default placement=node")
                put(_launch(number, ranks, hosts, clock_s))
                for position, (case, shares) in enumerate((one, share_of(one, random)) for one in batch):
                    words = " ".join(f"{key}={value}" for key, value in sorted(case.parameters.items()))
                    plan.append(f"{case.benchmark} {words} sampling.budget_s=0.1 sampling.precision=0.02")
                    record = golden.case_record(case, number, position, clock_s, random)
                    put(record | {"series": [_reduced(one, ranks, shares) for one in record["series"]]})
                    clock_s += 0.1
                put({"record": "end", "launch": number, "attempt": 1, "duration_s": 3.0, "clock_error_s": 1e-7})
    (directory / "plan.txt").write_text("\n".join(plan) + "\n")
    (directory / "experiment.toml").write_text('module = "standard"\nseed = 1\nlaunches = 6\n')
    (directory / "topology.toml").write_text(topology.write(switches(hosts)))
    names = {case.benchmark for batch in batches(hosts).values() for case in batch}
    for name, content in (
        ("run.json", golden.run_record(clock_s) | {"name": "large", "module": "standard", "skipped": []}),
        ("machine.json", machine(hosts)),
        ("benchmarks.json", described(*names)),
    ):
        (directory / name).write_text(json.dumps(content) + "\n")
    return directory


def batches(hosts: int) -> dict[int, list[golden.Synthetic]]:
    """Return the cases by their number of processes."""
    found: dict[int, list[golden.Synthetic]] = {}
    for case in _cases(hosts):
        found.setdefault(case.ranks, []).append(case)
    return found


def _cases(hosts: int) -> Iterator[golden.Synthetic]:
    yield from (one for one in golden.cases() if one.ranks <= 2 and one.transport == "default")
    counts = [1 << power for power in range(1, hosts.bit_length()) if 1 << power <= hosts]
    for ranks in counts:
        yield golden.Synthetic(
            "mpi.barrier", {"call": "blocking"}, ranks, golden.barrier_s(ranks), golden.work(), together=True
        )
        for size in golden.BROADCAST_SIZES:
            chosen, moved = {"message_bytes": size, "call": "blocking"}, golden.work(float(size * (ranks - 1)))
            time_s = golden.broadcast_s(size, ranks)
            yield golden.Synthetic("mpi.broadcast", chosen, ranks, time_s, moved, together=True)
    for number in range(min(PAIRS, hosts)):
        chosen = {"message_bytes": 1024, "round": number, "load": "isolated"}
        yield golden.Synthetic("mpi.pairs", chosen, min(PAIRS, hosts), 2e-6, golden.work(1024.0))
    for number, size in product(range(1, ROUNDS + 1), (1, 1 << 20)):
        chosen = {"message_bytes": size, "round": number}
        time_s = 2e-6 + size / 1e10
        yield golden.Synthetic("mpi.random_pairs", chosen, hosts, time_s, golden.work(float(size)), halved=True)
    everywhere = hosts * CORES
    moved = float(3 * (1 << 26) * everywhere)
    chosen = {"kernel": "triad", "array_bytes": 1 << 26}
    yield golden.Synthetic("node.stream", chosen, everywhere, 0.01, golden.work(moved, moved / 12))
    for n in golden.CANNON_SIZES:
        shares = golden.CANNON_PHASES[16]
        work = golden.work(0.0, 2.0 * n**3)
        yield golden.Synthetic(
            "algorithm.matmul_cannon", {"n": 16 * n, "variant": "plain"}, hosts, 0.1, work, phases=shares
        )


def _launch(number: int, ranks: int, hosts: int, clock_s: float) -> dict[str, Any]:
    """Return the start of a launch with one process on each host, on each core where hosts do not suffice."""
    processes = [
        {"rank": rank, "host": f"node{1 + rank % hosts:04d}", "pid": 1000 + rank, "processors": [rank // hosts]}
        for rank in range(ranks)
    ]
    drift = [0.0, *([1e-7] * (min(ranks, hosts) - 1))]
    clocks = {"method": "hierarchical", "hosts": min(ranks, hosts), "error_s": 1e-7, "drift": drift}
    record = golden.launch_record(number, 1, "default", clock_s)
    return record | {"ranks": ranks, "processes": processes, "clock_synchronization": clocks, "placement": "node"}


def share_of(case: golden.Synthetic, random: np.random.Generator) -> Floats | None:
    """Return each process's time over the usual one in a round of random pairs; None for other cases."""
    if case.benchmark != "mpi.random_pairs":
        return None
    other = partners(int(case.parameters["round"]), case.ranks)
    switch = np.arange(case.ranks) // PER_SWITCH
    slow = (np.arange(case.ranks) == SLOW_HOST) | (switch == SLOW_SWITCH)
    low, high = np.minimum(switch, switch[other]), np.maximum(switch, switch[other])
    slow_path = (low == SLOW_PATH[0]) & (high == SLOW_PATH[1])
    times = SLOWER ** (slow.astype(float) + slow[other] + slow_path) * random.normal(1, 0.03, case.ranks)
    return np.fmax(times, times[other])


def switches(hosts: int) -> topology.Topology:
    """Return switches of neighboring hosts, in groups of switches."""
    rates: dict[str, Any] = {"level": "cluster", "latency_s": 2e-6, "bandwidth_bytes_per_s": 1e10}
    numbers = range(-(-hosts // PER_SWITCH))
    upper = PER_GROUP // PER_SWITCH
    groups = [topology.Group(name="fabric", parent=None, **rates)]
    groups += [
        topology.Group(name=f"group{number:02d}", parent="fabric", **rates)
        for number in range(numbers[-1] // upper + 1)
    ]
    groups += [
        topology.Group(
            name=f"switch{number:03d}",
            parent=f"group{number // upper:02d}",
            hosts=[
                f"node{1 + host:04d}" for host in range(number * PER_SWITCH, min(hosts, (number + 1) * PER_SWITCH))
            ],
            **rates,
        )
        for number in numbers
    ]
    return topology.Topology(origin="emulated", group=groups)


def _reduced(series: dict[str, Any], ranks: int, shares: Floats | None) -> dict[str, Any]:
    """Return what the native program keeps of so many ranks; of pairs the medians, `shares` of the usual time."""
    if ranks <= MOST_KEPT:
        return series
    rows = np.array(series["elapsed_s"])
    kept = [round(rank) for rank in np.linspace(0, ranks - 1, KEPT)]

    def few(values: list[list[float]]) -> list[list[float]]:
        return [values[rank] for rank in kept]

    extremes = {
        "minimum_s": rows.min(0).tolist(),
        "minimum_rank": rows.argmin(0).tolist(),
        "maximum_s": rows.max(0).tolist(),
        "maximum_rank": rows.argmax(0).tolist(),
        "mean_s": rows.mean(0).tolist(),
        "first_entry_s": np.min(series.get("entry_s", np.zeros_like(rows)), 0).tolist(),
        "latest_exit_s": rows.max(0).tolist(),
    }
    pairs = {} if shares is None else {"medians_s": [float(f"{one:.6g}") for one in np.median(rows) * shares]}
    reduced = series | pairs | {"ranks_kept": kept, "elapsed_s": few(series["elapsed_s"]), "extremes": extremes}
    if "entry_s" in series:
        reduced["entry_s"] = few(series["entry_s"])
    if "observed" in series:
        reduced["observed"] = {name: few(values) for name, values in series["observed"].items()}
        reduced["observed_maximum"] = {
            name: np.max(values, 0).tolist() for name, values in series["observed"].items()
        }
    return reduced


def machine(hosts: int) -> dict[str, Any]:
    """Return machine.json: the host of the golden run so many times, with a fast link and small differences."""
    found = golden.machine()
    (host,) = found["hosts"]
    link = host["links"][0] | {"name": "ib0", "kind": "infiniband", "rate_bits_per_s": 2e11, "mtu_bytes": 4092}
    found["hosts"] = [
        host
        | {
            "name": f"node{number:04d}",
            "links": [*host["links"], link | {"addresses": [f"10.0.{number // 256}.{number % 256}"]}],
            "load": number % 7 / 100,
            "boot_id": f"boot-{number}",
            "governor": "powersave" if number == hosts // 2 else host["governor"],
        }
        for number in range(1, hosts + 1)
    ]
    return found


if __name__ == "__main__":
    main()
