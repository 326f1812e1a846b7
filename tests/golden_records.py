"""The records of the golden run that do not depend on what was measured: run, machine, launches, experiment."""

from __future__ import annotations

from typing import Any

SEED = 20001
LAUNCHES = 6
STARTED = 1_763_712_000.0


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
        "scope_version": "1.0.0a1",
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
        "scope_version": "1.0.0a1",
    }
