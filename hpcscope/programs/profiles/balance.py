"""Distribution of quantities over the ranks, raw and without values above the 99th percentile."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hpcscope.programs.profiles.records import ProfiledProcess, Spread
from hpcscope.statistics.order_statistics import sanitized

SPREADS = (
    *("wall_s", "compute_s", "mpi_s", "init_s", "user_s", "system_s", "off_processor_s"),
    *("sent_messages", "sent_bytes", "received_messages", "received_bytes", "calls"),
    *("file_s", "file_bytes"),
    *("voluntary_switches", "involuntary_switches", "major_faults", "peak_resident_bytes"),
)
"""Quantities that are compared between ranks."""


def spreads(processes: Sequence[ProfiledProcess]) -> dict[str, Spread]:
    """Return the distribution of every quantity that is known for all ranks."""
    found = {}
    for name in SPREADS:
        values = [
            getattr(process if hasattr(process, name) else process.usage, name, None) for process in processes
        ]
        known = [value for value in values if value is not None]
        if len(known) == len(processes):
            found[name] = spread(known, [process.rank for process in processes])
    return found


def spread(values: Sequence[float], ranks: Sequence[int]) -> Spread:
    """Return the distribution of one quantity over the ranks; `ranks`: the rank of each value."""
    array = np.asarray(values, np.float64)
    inner = sanitized(array)
    mean, most = float(array.mean()), float(array.max())
    alone = len(array) < 2
    return Spread(
        mean=mean,
        least=float(array.min()),
        least_rank=ranks[int(array.argmin())],
        most=most,
        most_rank=ranks[int(array.argmax())],
        coefficient_of_variation=_variation(array),
        sanitized_mean=float(inner.mean()),
        sanitized_coefficient_of_variation=_variation(inner),
        imbalance=None if alone or most <= 0 else (most - mean) / most * len(array) / (len(array) - 1),
    )


def _variation(values: NDArray[np.float64]) -> float | None:
    mean = float(values.mean())
    return float(values.std(ddof=1)) / abs(mean) if len(values) > 1 and mean != 0 else None
