"""What is measured before anything is predicted: one process with every block, messages, products on all cores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from scope.errors import ScopeError
from scope.machine.machine import Machine
from scope.models.ladder.ladder import Results
from scope.models.ladder.paths import paths
from scope.samples.records import LaunchRecord
from scope.samples.samples import Floats
from scope.statistics.summary import Summary
from scope.tune.candidates import BENCHMARK
from scope.tune.costs import Alone, LuCosts, MessageTime, Network, fitted

SIZES = (500, 1500)
"""Equations on one process: small enough for seconds, large enough that products leave the caches nearest."""
LAUNCHES = 2
BUDGET_S = 0.1
PRODUCT = "node.matrix_multiply"
PRODUCT_SIZE = 1000
LATENCY = "mpi.latency"
MESSAGE_BYTES = "0,512,4Ki,32Ki,256Ki,2Mi"
PARTS = ("update_s", "panel_s", "swap_s", "solve_s")


def cases(ranks: int, blocks: Iterable[int], hosts: int) -> list[dict[str, Any]]:
    """Return the `[[case]]` tables of what the predictions rest on."""
    asked: list[dict[str, Any]] = [
        {"benchmark": BENCHMARK, "ranks": 1, "n": list(SIZES), "block": list(blocks)},
        {"benchmark": PRODUCT, "ranks": sorted({1, ranks}), "size": PRODUCT_SIZE},
    ]
    if ranks > 1:
        message = {"benchmark": LATENCY, "ranks": 2, "message_bytes": MESSAGE_BYTES.split(",")}
        asked.append(message)
        if hosts > 1:
            asked.append(message | {"placement": "node"})
    return asked


def costs(
    summaries: list[Summary], machine: Machine, launches: list[LaunchRecord], ranks: int, slots: int
) -> LuCosts:
    """Return the costs that were measured; ScopeError names what is missing and why.

    `slots`: processes of a host.
    """
    known = Results([s for s in summaries if s.primary and s.valid and s.median is not None])
    blocks = {block: fitted(block, alone) for block, alone in _alone(known, summaries).items()}
    network = Network(lambda count: np.zeros_like(count))
    if ranks > 1:
        inside, outside = (_messages(known, machine, launches, way) for way in (True, False))
        first = inside or outside
        if first is None:
            raise ScopeError(f"{LATENCY}: no valid sample: what a message costs is not known")
        network = Network(first, outside, slots)
    return LuCosts(blocks, network, _crowding(known, ranks))


def _alone(known: Results, summaries: list[Summary]) -> dict[int, list[Alone]]:
    """Return what one process took, by block."""
    found: dict[int, list[Alone]] = {}
    parts = {
        (int(s.parameters["n"]), int(s.parameters["block"]), s.metric): float(s.median or 0.0)
        for s in known.of(BENCHMARK, "time_s") + [s for part in PARTS for s in known.of(BENCHMARK, part)]
        if s.ranks == 1 and int(s.parameters["n"]) in SIZES
    }
    for n, block, metric in parts:
        if metric == "time_s":
            times = [parts.get((n, block, part), 0.0) for part in PARTS]
            found.setdefault(block, []).append(Alone(n, *times))
    whole = {block: alone for block, alone in found.items() if len(alone) == len(SIZES)}
    if not whole:
        reasons = [s.reason for s in summaries if s.benchmark == BENCHMARK and not s.valid and s.reason]
        raise ScopeError(f"{BENCHMARK} on one process: {reasons[0] if reasons else 'was not measured'}")
    return whole


def _messages(known: Results, machine: Machine, launches: list[LaunchRecord], inside: bool) -> MessageTime | None:
    """Return the time of a message over its size, straight between the sizes that were measured."""
    path = next((p for p in paths(machine, launches) if p.transport == "default" and p.inside == inside), None)
    if path is None:
        return None
    found = known.of(LATENCY, "latency_s", path, mode="standard", completion="blocking")
    points = sorted((int(s.parameters["message_bytes"]), float(s.median or 0.0)) for s in found)
    if len(points) < 2:
        return None
    sizes, seconds = np.array(points, dtype=np.float64).T
    per_byte = (seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2])

    def time(count: Floats) -> Floats:
        beyond = np.maximum(count - sizes[-1], 0.0) * per_byte
        return np.asarray(np.interp(count, sizes, seconds) + beyond, dtype=np.float64)

    return time


def _crowding(known: Results, ranks: int) -> float:
    """Return how many times as long a product takes where all processes work at once."""
    if ranks == 1:
        return 1.0
    times = {s.ranks: s.median for s in known.of(PRODUCT, "time_s", precision="double", size=str(PRODUCT_SIZE))}
    alone, together = times.get(1), times.get(ranks)
    if not alone or not together:
        raise ScopeError(f"{PRODUCT} on {f'{ranks} processes' if alone else 'one process'}: no valid sample")
    return together / alone
