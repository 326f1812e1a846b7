"""Programs on a machine of known truth: what a message, an element and a product cost there."""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import numpy as np

from hpcscope.models.prediction.prediction import Prediction, Predictor, all_costs, predictions
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import LaunchRecord
from hpcscope.statistics.summary import Summary
from tests import golden_run as golden
from tests.declared import catalog
from tests.models.curves import measured, noisy, summary

LAUNCHES = [LaunchRecord.model_validate(golden.launch_record(1, p, "default", 0.0)) for p in (1, 2, 4, 16, 32)]

START_S, BYTE_S = 1e-6, 1 / 5e9
"""A message."""
FLOP_S = 1e-9
"""A multiplication with its addition in the plain product."""
ELEMENT_S = 4e-9
"""An element made, packed or unpacked by the root."""


def message(count: float) -> float:
    return START_S + BYTE_S * count


def ping_pong(random: np.random.Generator, spread: float = 0.002) -> list[Summary]:
    sizes = [0, 64, 4096, 65536, 1 << 20, 1 << 22]
    given = {"mode": "standard", "completion": "blocking"}
    return [summary(noisy(random, message(n), spread=spread), message_bytes=n, **given) for n in sizes]


def phases(
    random: np.random.Generator, benchmark: str, ranks: int, spread: float, seconds: dict[str, float], **given: Any
) -> list[Summary]:
    """The total and its parts, as statistics give them."""
    total = sum(seconds.values())
    made = [summary(noisy(random, total, spread=spread), benchmark, "time_s", "max_rank", ranks=ranks, **given)]
    communicate = seconds["distribute"] + seconds["exchange"] + seconds["collect"]
    for name, value in (seconds | {"communicate": communicate}).items():
        times = noisy(random, value, spread=spread) if value else [np.zeros(15)] * 6
        made.append(summary(times, benchmark, f"{name}_s", "observed", ranks=ranks, **given))
    return made


def cannon(size: int, side: int, slower: float = 1.0) -> dict[str, float]:
    """On side x side processes the root sends 2 (p - 1) blocks; side - 1 shifts of two; p - 1 come back."""
    p, block = side * side, 8 * size**2 / (side * side)
    return {
        "initialize": 2 * ELEMENT_S * size**2,
        "distribute": 2 * ELEMENT_S * size**2 + slower * 2 * (p - 1) * message(block),
        "compute": FLOP_S * size**3 / p,
        "exchange": slower * 2 * (side - 1) * message(block),
        "collect": ELEMENT_S * size**2 + slower * (p - 1) * message(block),
    }


SIZES = [120, 180, 240, 480]


def cannon_run(slower: float = 1.0, spread: float = 0.002, seed: int = 1) -> list[Summary]:
    random = np.random.default_rng(seed)
    made = ping_pong(random, spread)
    for size in [60, *SIZES]:
        made += phases(random, "algorithm.matmul_cannon", 1, spread, cannon(size, 1), n=size, variant="plain")
    for side in (2, 4):
        for size in SIZES:
            times = cannon(size, side, slower)
            made += phases(random, "algorithm.matmul_cannon", side**2, spread, times, n=size, variant="plain")
    return made


def predictor(benchmark: str, summaries: list[Summary]) -> Predictor:
    return Predictor(all_costs(catalog())[benchmark], measured(summaries, LAUNCHES), "default")


def only(summaries: list[Summary]) -> Prediction:
    found = predictions(measured(summaries, LAUNCHES))
    assert len(found) == 1
    return found[0]


def striped(size: int, rows: int, columns: int) -> dict[str, float]:
    p, matrix = rows * columns, 8 * size**2
    return {
        "initialize": 2 * ELEMENT_S * size**2,
        "distribute": ELEMENT_S * size**2
        + (rows - 1) * message(matrix / rows)
        + (columns - 1) * message(matrix / columns),
        "compute": FLOP_S * size**3 / p,
        "exchange": ceil(log2(columns)) * message(matrix / rows) + ceil(log2(rows)) * message(matrix / columns),
        "collect": ELEMENT_S * size**2 + (p - 1) * message(matrix / p),
    }


SPREAD = Placement("node")
SPREAD_LAUNCHES = [
    one.model_copy(
        update={
            "placement": SPREAD,
            "processes": [process.model_copy(update={"host": f"node{process.rank}"}) for process in one.processes],
        }
    )
    for one in LAUNCHES
]
