"""What is true of the golden run: its cases, how long one operation takes, and what it moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, log2
from typing import Any

SIZES = [0, 8, 64, 256, 1024, 4096, 8192, 16384, 20480, 65536, 262144, 1048576, 4194304]
TCP_SIZES = [1, *SIZES[1:]]
BANDWIDTH_SIZES = [1024, 4096, 16384, 65536, 262144, 1048576, 4194304]
BARRIER_RANKS = [2, 3, 4, 6, 8, 12, 16]
BROADCAST_RANKS = [2, 4, 8, 16]
BROADCAST_SIZES = [8, 1024, 65536, 1048576]
MATRIX_SIZES = [30, 120, 480, 1080]
CANNON_SIZES = [128, 256, 512]
CANNON_PHASES = {
    ranks: {"compute_s": compute, "initialize_s": 0.05, "idle_s": idle, "communicate_s": 0.95 - compute - idle}
    | {f"{name}_s": share * (0.95 - compute - idle) for name, share in parts.items()}
    for ranks, compute, idle, parts in [
        (1, 0.93, 0.0, {"distribute": 0.5, "exchange": 0.0, "collect": 0.5}),
        (4, 0.8, 0.05, {"distribute": 0.5, "exchange": 0.3, "collect": 0.2}),
        (16, 0.3, 0.15, {"distribute": 0.5, "exchange": 0.3, "collect": 0.2}),
    ]
}
"""Shares of the elapsed time on 1, 4 and 16 ranks."""
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
    for array_bytes in (1 << 16, 1 << 20):
        moved = float(array_bytes)
        yield Synthetic("node.core_to_core", {"array_bytes": array_bytes}, 2, moved / 20e9, work(moved))


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


WRONG_DATA = "rank 7 on node1: byte 4096 is 17, must be 99"
"""Why the one broadcast that fails does."""


def collective_cases() -> Iterator[Synthetic]:
    for ranks in BARRIER_RANKS:
        yield Synthetic("mpi.barrier", {}, ranks, barrier_s(ranks), work(messages=float(ranks)), together=True)
    for ranks in BROADCAST_RANKS:
        for message_bytes in BROADCAST_SIZES:
            fails = WRONG_DATA if (ranks, message_bytes) == (16, 1 << 20) else ""
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
