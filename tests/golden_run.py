"""A run directory with known answers: synthetic samples, true to the format, the same at every call.

Its machine has one host of 16 cores. What an analysis must find in it:

- mpi.latency (standard, default transport): t = 0.4 µs + n / 10 GB/s up to 16 KiB, then 3 µs + n / 12 GB/s:
  a protocol switch between 16 KiB and 32 KiB that costs 2.05 µs at 32 KiB;
- network.latency over TCP: t = 5 µs + n / 1.8 GB/s; mpi.latency over TCP: t = 6.5 µs + n / 1.5 GB/s (30 % dearer);
- node.stream copy: 40 GB/s in cache (256 KiB), 12 GB/s from memory;
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
from dataclasses import dataclass, field
from math import ceil, log2
from pathlib import Path
from typing import Any

import numpy as np

from tests.declared import described

SEED = 20001
LAUNCHES = 6
REPETITIONS = 24
WARMUP = 2
STARTED = 1_763_712_000.0
SIZES = [0, 8, 64, 256, 1024, 4096, 8192, 16384, 32768, 65536, 262144, 1048576, 4194304]
TCP_SIZES = [1, *SIZES[1:]]
BANDWIDTH_SIZES = [1024, 4096, 16384, 65536, 262144, 1048576, 4194304]
BARRIER_RANKS = [2, 3, 4, 6, 8, 12, 16]
BROADCAST_RANKS = [2, 4, 8, 16]
BROADCAST_SIZES = [8, 1024, 65536, 1048576]
MATRIX_SIZES = [30, 120, 480, 1080]
CANNON_SIZES = [128, 256, 512]
CANNON_PHASES = {
    ranks: {"compute_s": compute, "initialise_s": 0.05, "idle_s": idle, "communicate_s": 0.95 - compute - idle}
    | {f"{name}_s": share * (0.95 - compute - idle) for name, share in parts.items()}
    for ranks, compute, idle, parts in [
        (1, 0.93, 0.0, {"distribute": 0.5, "exchange": 0.0, "collect": 0.5}),
        (4, 0.8, 0.05, {"distribute": 0.5, "exchange": 0.3, "collect": 0.2}),
        (16, 0.3, 0.15, {"distribute": 0.5, "exchange": 0.3, "collect": 0.2}),
    ]
}
"""Shares of the elapsed time on 1, 4 and 16 ranks."""
BENCHMARKS = (
    *("node.timer", "node.stream", "network.latency", "mpi.latency", "mpi.bandwidth", "mpi.comms2", "mpi.barrier"),
    *("mpi.broadcast", "operation.broadcast", "algorithm.matmul_cannon"),
)
STREAM_SIZES = [262144, 4194304, 67108864]

LATENCY = (0.4e-6, 1 / 10e9)
LATENCY_ABOVE = (3e-6, 1 / 12e9)
SWITCH_BYTES = 16384
TCP = (5e-6, 1 / 1.8e9)
MPI_TCP = (6.5e-6, 1 / 1.5e9)
BARRIER = (1e-6, 50e-9, 0.4e-6)
BROADCAST_PER_BYTE = 1 / 8e9


@dataclass
class Synthetic:
    """One case to be written: who, with what, how long one operation takes in truth, and what it moves."""

    benchmark: str
    parameters: dict[str, Any]
    ranks: int
    time_s: float
    work: dict[str, float]
    transport: str = "default"
    halved: bool = False
    """The elapsed time is a round trip."""
    together: bool = False
    """A collective: entry times are kept, and the other cadences are taken."""
    noise: float = 0.01
    fails: str = ""
    phases: dict[str, float] = field(default_factory=dict)
    """Shares of the elapsed time."""


def work(moved: float = 0.0, flops: float = 0.0, messages: float = 0.0) -> dict[str, float]:
    return {"bytes": moved, "flops": flops, "messages": messages}


def line(coefficients: tuple[float, float], message_bytes: int) -> float:
    return coefficients[0] + coefficients[1] * message_bytes


def latency_s(message_bytes: int) -> float:
    return line(LATENCY if message_bytes <= SWITCH_BYTES else LATENCY_ABOVE, message_bytes)


def barrier_s(ranks: int) -> float:
    constant, per_rank, per_step = BARRIER
    return constant + per_rank * ranks + per_step * ceil(log2(ranks))


def broadcast_s(message_bytes: int, ranks: int) -> float:
    return barrier_s(ranks) + BROADCAST_PER_BYTE * message_bytes * ceil(log2(ranks))


def cases() -> Iterator[Synthetic]:
    yield from node_cases()
    yield from network_cases()
    yield from library_cases()
    yield from collective_cases()
    yield from operation_cases()


def node_cases() -> Iterator[Synthetic]:
    for clock, pair in {"register": 20e-9, "clock_gettime": 45e-9, "mpi_wtime": 60e-9}.items():
        yield Synthetic("node.timer", {"clock": clock}, 1, pair, work())
    for ranks in (1, 16):
        for kernel, arrays in {"copy": 2, "scale": 2, "add": 3, "triad": 3}.items():
            for array_bytes in STREAM_SIZES:
                rate = 12e9 if array_bytes > 16 << 20 else 40e9
                rate *= 1.0 if ranks == 1 else (3.0 if array_bytes > 16 << 20 else 15.0)
                moved = float(arrays * array_bytes * ranks)
                parameters = {"kernel": kernel, "array_bytes": array_bytes}
                yield Synthetic("node.stream", parameters, ranks, moved / rate, work(moved, moved / 16))


def network_cases() -> Iterator[Synthetic]:
    for message_bytes in TCP_SIZES:
        chosen = {"protocol": "tcp", "message_bytes": message_bytes, "nodelay": "on", "wait": "polling"}
        moved = work(float(message_bytes), 0.0, 1.0)
        yield Synthetic("network.latency", chosen, 2, line(TCP, message_bytes), moved, halved=True)


def library_cases() -> Iterator[Synthetic]:
    def latency(mode: str, message_bytes: int, time_s: float, **more: Any) -> Synthetic:
        chosen = {"mode": mode, "completion": "blocking", "message_bytes": message_bytes}
        moved = work(float(message_bytes), 0.0, 1.0)
        return Synthetic("mpi.latency", chosen, 2, time_s, moved, halved=True, **more)

    for message_bytes in SIZES:
        yield latency("standard", message_bytes, latency_s(message_bytes))
    for message_bytes in [0, *TCP_SIZES]:
        yield latency("standard", message_bytes, line(MPI_TCP, message_bytes), transport="tcp")
    for mode, factor in {"buffered": 1.3, "synchronous": 1.6, "ready": 1.0}.items():
        for message_bytes in (0, 1024, 65536):
            noisy = mode == "synchronous" and message_bytes == 1024
            yield latency(mode, message_bytes, factor * latency_s(message_bytes), noise=0.8 if noisy else 0.01)
    for message_bytes in (0, 1024, 65536):
        exchange_s = 1.95 * latency_s(message_bytes)
        moved = work(2.0 * message_bytes, 0.0, 2.0)
        yield Synthetic("mpi.comms2", {"message_bytes": message_bytes}, 2, exchange_s, moved)
    for transport, start, per_byte in (("default", 5e-6, 1 / 11e9), ("tcp", 30e-6, 1 / 1.6e9)):
        for message_bytes in BANDWIDTH_SIZES:
            chosen = {"completion": "nonblocking", "message_bytes": message_bytes, "window": 64}
            time_s = start + 64 * message_bytes * per_byte
            moved = work(64.0 * message_bytes, 0.0, 64.0)
            yield Synthetic("mpi.bandwidth", chosen, 2, time_s, moved, transport=transport)


def collective_cases() -> Iterator[Synthetic]:
    for ranks in BARRIER_RANKS:
        yield Synthetic("mpi.barrier", {}, ranks, barrier_s(ranks), work(messages=float(ranks)), together=True)
    for ranks in BROADCAST_RANKS:
        for message_bytes in BROADCAST_SIZES:
            fails = (
                "rank 7 on node1: byte 4096 is 17, must be 99" if (ranks, message_bytes) == (16, 1 << 20) else ""
            )
            yield Synthetic(
                "mpi.broadcast",
                {"message_bytes": message_bytes},
                ranks,
                broadcast_s(message_bytes, ranks),
                work(float(message_bytes * ranks), 0.0, ranks - 1.0),
                together=True,
                fails=fails,
            )


def operation_cases() -> Iterator[Synthetic]:
    for ranks in (2, 4):
        for n in MATRIX_SIZES:
            for buffers, factor in (("warm", 1.0), ("cold", 1.4)):
                moved = 8 * n * n
                yield Synthetic(
                    "operation.broadcast",
                    {"n": n, "buffers": buffers},
                    ranks,
                    factor * broadcast_s(moved, ranks) / 0.6,
                    work(float(moved * ranks), 0.0, ranks - 1.0),
                    together=True,
                )
    for n in CANNON_SIZES:
        for variant, rate in (("plain", 1.0e9), ("transposed", 2.0e9)):
            for ranks, phases in CANNON_PHASES.items():
                flops = 2.0 * n**3
                moved = 2 * 8.0 * n**2 * 2
                yield Synthetic(
                    "algorithm.matmul_cannon",
                    {"n": n, "variant": variant},
                    ranks,
                    flops / (ranks * rate) / phases["compute_s"],
                    work(moved, flops, 4.0 * ranks),
                    phases=phases,
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


def launch_record(launch: int, ranks: int, transport: str, clock_s: float) -> dict[str, Any]:
    return {
        "record": "launch",
        "format": 2,
        "launch": launch,
        "attempt": 1,
        "ranks": ranks,
        "origin": "measured",
        "transport": transport,
        "placement": "core",
        "started_unix_s": clock_s,
        "library": "Open MPI v5.0.11",
        "mpi_standard": "3.1",
        "processes": [
            {"rank": rank, "host": "node1", "pid": 1000 + rank, "processors": [rank % 16]} for rank in range(ranks)
        ],
        "clock": {
            "source": "tsc",
            "frequency_hz": 2.6e9,
            "resolution_s": 8e-9,
            "overhead_s": 2e-8,
            "monotonic": True,
            "fallback_reason": "",
        },
        "clock_synchronization": {"method": "same host", "hosts": 1, "error_s": 0.0, "drift": [0.0]},
    }


def run_record(finished: float) -> dict[str, Any]:
    return {
        "format": 2,
        "scope_version": "0.1.0",
        "name": "golden",
        "module": "baseline",
        "command": ["scope", "run", "--module", "baseline"],
        "started_unix_s": STARTED,
        "finished_unix_s": finished,
        "status": "finished",
        "skipped": [
            {"benchmark": "mpi.barrier", "case": "ranks=32", "reason": "32 ranks, but this machine has 16 cores"}
        ],
    }


EXPERIMENT = f"""module = "baseline"
seed = {SEED}
launches = {LAUNCHES}

[sampling]
precision = 0.02
budget_s = 0.1

[launcher]
kind = "mpiexec"
hosts = ["node1:16"]
binding = "core"
"""


def machine() -> dict[str, Any]:
    processor = {
        "model": "Golden Processor",
        "architecture": "x86_64",
        "sockets": 1,
        "cores": 16,
        "threads": 16,
        "usable": list(range(16)),
        "quota_processors": None,
        "base_frequency_hz": 2.6e9,
        "flags": ["avx2", "constant_tsc", "nonstop_tsc"],
    }
    caches = [
        {"level": 1, "kind": "data", "size_bytes": 32768, "line_bytes": 64, "shared_by_cores": 1},
        {"level": 2, "kind": "unified", "size_bytes": 1048576, "line_bytes": 64, "shared_by_cores": 1},
        {"level": 3, "kind": "unified", "size_bytes": 16777216, "line_bytes": 64, "shared_by_cores": 16},
    ]
    loopback = {
        "name": "lo",
        "kind": "loopback",
        "rate_bits_per_s": None,
        "mtu_bytes": 65536,
        "addresses": ["127.0.0.1"],
        "driver": "",
        "up": True,
    }
    host = {
        "name": "node1",
        "processor": processor,
        "caches": caches,
        "memory_bytes": 64 << 30,
        "numa_nodes": 1,
        "links": [loopback],
        "kernel": "6.1.0",
        "operating_system": "Debian GNU/Linux 12",
        "virtualization": "",
        "governor": "performance",
        "turbo": True,
        "transparent_huge_pages": "madvise",
        "load": 0.05,
        "boot_id": "golden",
    }
    mpi = {
        "name": "openmpi",
        "version": "5.0.11",
        "origin": "embedded",
        "compiler": "/opt/mpi/bin/mpicxx",
        "launcher": "/opt/mpi/bin/mpiexec",
    }
    build = {
        "fingerprint": "0123456789abcdef",
        "program": "/var/cache/scope/build/0123456789abcdef/scope-measure",
        "compiler": "g++ 12.2.0",
        "flags": "-O2",
        "mpi": mpi,
        "built_unix_s": STARTED - 60,
    }
    return {
        "format": 2,
        "hosts": [host],
        "build": build,
        "environment": {"OMP_NUM_THREADS": "1"},
        "python": "3.11.2",
        "scope_version": "0.1.0",
    }


if __name__ == "__main__":
    import sys

    print(write(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/golden")))
