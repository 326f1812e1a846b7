"""Measurements that the predictions need: one rank with every block size, messages, concurrent products."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from hpcscope.catalog.benchmark import Value
from hpcscope.errors import ScopeError
from hpcscope.models.ladder.paths import paths
from hpcscope.models.measurements import Measurements
from hpcscope.samples.samples import Floats
from hpcscope.tune.candidates import BENCHMARK
from hpcscope.tune.costs import LuCosts, MessageTime, Network, OneProcess, fitted

SIZES = (500, 1500)
"""N on one rank: solved within seconds, and the larger matrix exceeds the nearest caches."""
LAUNCHES = 2
BUDGET_S = 0.1
PRODUCT = "node.matrix_multiply"
PRODUCT_N = 1000
MESSAGES = "mpi.latency"
MESSAGE_BYTES = "0,512,4Ki,32Ki,256Ki,2Mi"
PARTS = ("update_s", "panel_s", "swap_s", "solve_s")


def cases(ranks: int, blocks: Iterable[int], hosts: int) -> list[dict[str, Any]]:
    """Return the `[[case]]` tables that the predictions need."""
    asked: list[dict[str, Any]] = [
        {"benchmark": BENCHMARK, "ranks": 1, "n": list(SIZES), "block": list(blocks)},
        {"benchmark": PRODUCT, "ranks": sorted({1, ranks}), "n": PRODUCT_N},
    ]
    if ranks > 1:
        message = {"benchmark": MESSAGES, "ranks": 2, "message_bytes": MESSAGE_BYTES.split(",")}
        asked.append(message)
        if hosts > 1:
            asked.append(message | {"placement": "node"})
    return asked


def costs(measurements: Measurements, ranks: int, slots: int) -> LuCosts:
    """Return the measured costs, with `slots` ranks on each host; raises ScopeError naming a missing cost."""
    blocks = {block: fitted(block, several) for block, several in _one_process(measurements).items()}
    network = Network(lambda count: np.zeros_like(count))
    if ranks > 1:
        inside, outside = (_messages(measurements, inside) for inside in (True, False))
        first = inside or outside
        if first is None:
            raise ScopeError(f"{MESSAGES}: no valid sample, so the cost of a message is unknown")
        network = Network(first, outside, slots)
    return LuCosts(blocks, network, _contention(measurements, ranks))


def _one_process(measurements: Measurements) -> dict[int, list[OneProcess]]:
    """Return the times of one rank, by block size."""
    processes: dict[int, list[OneProcess]] = {}
    parts = {
        (int(s.parameters["n"]), int(s.parameters["block"]), s.metric): s.estimate.value
        for metric in ("time_s", *PARTS)
        for s in measurements.of(BENCHMARK, metric)
        if s.ranks == 1 and int(s.parameters["n"]) in SIZES
    }
    for n, block, metric in parts:
        if metric == "time_s":
            times = [parts.get((n, block, part), 0.0) for part in PARTS]
            processes.setdefault(block, []).append(OneProcess(n, *times))
    complete = {block: several for block, several in processes.items() if len(several) == len(SIZES)}
    if not complete:
        failed = [s for s in measurements.summaries if s.benchmark == BENCHMARK and not s.valid and s.reason]
        raise ScopeError(f"{BENCHMARK} on one rank: {failed[0].reason if failed else 'not measured'}")
    return complete


def _messages(measurements: Measurements, inside: bool) -> MessageTime | None:
    """Return the time of a message by its size, interpolated linearly between the measured sizes."""
    known = paths(measurements.machine, measurements.launches)
    path = next((p for p in known if p.transport == "default" and p.inside == inside), None)
    if path is None:
        return None
    plain = {"mode": "standard", "completion": "blocking"}
    cases = [s for s in measurements.of(MESSAGES, "latency_s", plain) if path.carries(s)]
    points = sorted((measurements.size(s), s.estimate.value) for s in cases)
    if len(points) < 2:
        return None
    sizes, seconds = np.array(points, dtype=np.float64).T
    per_byte = (seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2])

    def time(count: Floats) -> Floats:
        beyond = np.maximum(count - sizes[-1], 0.0) * per_byte
        return np.asarray(np.interp(count, sizes, seconds) + beyond, dtype=np.float64)

    return time


def _contention(measurements: Measurements, ranks: int) -> float:
    """Return the slowdown of a product when all ranks compute at once."""
    if ranks == 1:
        return 1.0
    plain: dict[str, Value] = {"precision": "double", "n": PRODUCT_N}
    times = {s.ranks: s.estimate.value for s in measurements.of(PRODUCT, "time_s", plain)}
    one, all_at_once = times.get(1), times.get(ranks)
    if not one or not all_at_once:
        raise ScopeError(f"{PRODUCT} on {f'{ranks} ranks' if one else 'one rank'}: no valid sample")
    return all_at_once / one
