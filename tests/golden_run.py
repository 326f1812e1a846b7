"""A run directory with known answers: synthetic samples, true to the format, the same at every call.

Its machine has one host of 16 cores. What an analysis must find in it:

- mpi.latency (standard, default transport): t = 0.4 µs + n / 10 GB/s up to 16 KiB, then 3 µs + n / 12 GB/s:
  a protocol switch between 16 KiB and 20 KiB that costs 2.29 µs halfway;
- network.latency over TCP: t = 5 µs + n / 1.8 GB/s; mpi.latency over TCP: t = 6.5 µs + n / 1.5 GB/s (30 % dearer);
- node.stream copy: 40 GB/s in cache (256 KiB), 12 GB/s from memory;
- node.core_to_core: 20 GB/s;
- mpi.bandwidth: 11 GB/s and 1.6 GB/s (TCP) for long messages;
- mpi.barrier: 1 µs + 50 ns p + 0.4 µs ceil(log2 p); mpi.broadcast: that + n / 8 GB/s ceil(log2 p);
- operation.broadcast delivers 60 % of what the broadcast of the library does;
- algorithm.matmul_cannon: 1 Gflop/s a core (2 transposed); of the time on 1, 4 and 16 ranks computation has 93,
  80 and 30 %: communication outweighs it on 16;
- one noisy case (mpi.latency synchronous 1 KiB), one failed case (mpi.broadcast of 1 MiB on 16 ranks, wrong data).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.declared import described
from tests.golden_records import EXPERIMENT, LAUNCHES, SEED, STARTED, launch_record, machine, run_record
from tests.golden_truth import (
    BARRIER,
    BARRIER_RANKS,
    BROADCAST_PER_BYTE,
    BROADCAST_SIZES,
    CANNON_PHASES,
    CANNON_SIZES,
    LATENCY,
    LATENCY_ABOVE,
    MPI_TCP,
    SIZES,
    TCP,
    TCP_SIZES,
    Synthetic,
    barrier_s,
    broadcast_s,
    cases,
    latency_s,
    line,
    work,
)

__all__ = [
    "BARRIER",
    "BARRIER_RANKS",
    "BENCHMARKS",
    "BROADCAST_PER_BYTE",
    "BROADCAST_SIZES",
    "CANNON_PHASES",
    "CANNON_SIZES",
    "EXPERIMENT",
    "LATENCY",
    "LATENCY_ABOVE",
    "LAUNCHES",
    "MPI_TCP",
    "REPETITIONS",
    "SEED",
    "SIZES",
    "STARTED",
    "TCP",
    "TCP_SIZES",
    "WARMUP",
    "Synthetic",
    "barrier_s",
    "broadcast_s",
    "case_record",
    "cases",
    "latency_s",
    "launch_record",
    "line",
    "machine",
    "run_record",
    "shorten",
    "work",
    "write",
]
"""The truth and the records, too: whoever checks an analysis asks this module for all of it."""

REPETITIONS = 24
WARMUP = 2
BENCHMARKS = (
    *(
        "node.timer",
        "node.stream",
        "node.core_to_core",
        "network.latency",
        "mpi.latency",
        "mpi.bandwidth",
        "mpi.comms2",
        "mpi.barrier",
    ),
    *("mpi.broadcast", "operation.broadcast", "algorithm.matmul_cannon"),
)


def write(directory: Path, seed: int = SEED) -> Path:
    """Write the raw files of the run (run, machine, benchmarks, experiment, plan, samples) and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    plan = [f"# scope plan format=2 seed={seed} module=baseline"]
    lines: list[str] = []
    clock_s = STARTED
    for number, (place, batch) in enumerate(launches(random), start=1):
        ranks, transport = place
        plan.append(f"launch {number} ranks={ranks} transport={transport} placement=core")
        lines.append(json.dumps(launch_record(number, ranks, transport, clock_s)))
        for position, case in enumerate(batch):
            words = " ".join(f"{key}={value}" for key, value in sorted(case.parameters.items()))
            plan.append(
                f"{case.benchmark} {words} sampling.budget_s=0.1 sampling.precision=0.02".replace("  ", " ")
            )
            lines.append(json.dumps(case_record(case, number, position, clock_s, random)))
            clock_s += 0.1
        end = {"record": "end", "launch": number, "attempt": 1, "duration_s": 3.0, "clock_error_s": 0.0}
        lines.append(json.dumps(end))
    (directory / "samples.jsonl").write_text("\n".join(lines) + "\n")
    (directory / "plan.txt").write_text("\n".join(plan) + "\n")
    (directory / "experiment.toml").write_text(EXPERIMENT)
    for name, content in (
        ("run.json", run_record(clock_s)),
        ("machine.json", machine()),
        ("benchmarks.json", described(*BENCHMARKS)),
    ):
        (directory / name).write_text(json.dumps(content, indent=1) + "\n")
    return directory


def shorten(run: Path, most_ranks: int = 2) -> Path:
    """Leave only the launches with few ranks, in the samples and in the plan: a tenth of the bytes."""
    samples, plan = run / "samples.jsonl", run / "plan.txt"
    records = [json.loads(line) for line in samples.read_text().splitlines()]
    kept = {one["launch"] for one in records if one["record"] == "launch" and one["ranks"] <= most_ranks}
    samples.write_text("".join(json.dumps(one) + "\n" for one in records if one["launch"] in kept))
    words, inside = [], True
    for each in plan.read_text().splitlines(keepends=True):
        if each.startswith("launch "):
            inside = int(each.split()[1]) in kept
        words += [each] if inside else []
    plan.write_text("".join(words))
    return run


def launches(random: np.random.Generator) -> Iterator[tuple[tuple[int, str], list[Synthetic]]]:
    """Every batch of cases that one launch can run, six times, cases shuffled."""
    batches: dict[tuple[int, str], list[Synthetic]] = {}
    for case in cases():
        batches.setdefault((case.ranks, case.transport), []).append(case)
    for _ in range(LAUNCHES):
        for place, batch in batches.items():
            yield place, [batch[i] for i in random.permutation(len(batch))]


def case_record(
    case: Synthetic, launch: int, position: int, clock_s: float, random: np.random.Generator
) -> dict[str, Any]:
    noisy = case.noise > 0.1
    series = [isolated(case, random)]
    if case.together:
        series += [loop(case, "streaming", 0.9, random), loop(case, "barrier_loop", 1.8, random)]
    return {
        "record": "case",
        "launch": launch,
        "attempt": 1,
        "position": position,
        "benchmark": case.benchmark,
        "parameters": case.parameters,
        "ranks": case.ranks,
        "status": "failed" if case.fails else "ok",
        "reason": case.fails,
        "started_unix_s": clock_s,
        "duration_s": 0.1,
        "verification": {"passed": not case.fails, "checks": 128, "cost_s": 1e-4, "message": case.fails},
        "work": case.work,
        "stopped": "budget" if noisy else "precision",
        "relative_interval": 0.3 if noisy else 0.01,
        "series": series,
        "rank_states": [],
    }


def noise(case: Synthetic, count: int, random: np.random.Generator) -> Any:
    """Multiplicative: a launch's own level (0.5 %), then lognormal with the case's spread around a median of 1."""
    return np.exp(random.normal(0, 0.005) + random.normal(0, case.noise, count))


def isolated(case: Synthetic, random: np.random.Generator) -> dict[str, Any]:
    count = WARMUP + REPETITIONS
    slowest = case.time_s * (2 if case.halved else 1) * noise(case, count, random)
    slowest[:WARMUP] *= 3
    rows = np.tile(slowest, (case.ranks, 1))
    # The others leave a little earlier; who is last changes from one repetition to the next.
    rows *= 1 - 0.1 * random.random(rows.shape)
    rows[0 if case.halved else random.integers(case.ranks, size=count), np.arange(count)] = slowest
    if case.halved:
        rows[0] = slowest
    series: dict[str, Any] = {
        "cadence": "isolated",
        "synchronization": "dissemination",
        "operations": 1,
        "warmup": WARMUP,
        "ranks_kept": list(range(case.ranks)),
        "elapsed_s": rounded(rows),
    }
    if case.together:
        series["synchronization"] = "window"
        series["entry_s"] = rounded(np.zeros_like(rows))
        series["valid"] = [bool(index != 5) for index in range(count)]
    if case.phases:
        series["observed"] = {name: rounded(rows * share) for name, share in case.phases.items()}
    return series


def loop(case: Synthetic, cadence: str, factor: float, random: np.random.Generator) -> dict[str, Any]:
    operations, count = 16, 10
    times = case.time_s * factor * operations * noise(case, count, random)
    return {
        "cadence": cadence,
        "synchronization": "none",
        "operations": operations,
        "warmup": 0,
        "ranks_kept": list(range(case.ranks)),
        "elapsed_s": rounded(np.tile(times, (case.ranks, 1))),
    }


def rounded(rows: Any) -> list[list[float]]:
    return [[float(f"{value:.5g}") for value in row] for row in rows]


if __name__ == "__main__":
    import sys

    print(write(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/golden")))
