"""The fastest memory copy of one core: no message through memory is faster than one copy of it."""

from __future__ import annotations

from scope.catalog.catalog import LIMIT, Catalog
from scope.models.measurements import Measurements
from scope.statistics.summary import Summary


def not_measured(catalog: Catalog) -> str:
    """Return why the limit is missing, with the benchmarks that measure it."""
    names = " or ".join(dict.fromkeys(place.benchmark.name for place in catalog.standing("copy", LIMIT)))
    return f"{names} was not measured on one rank" if names else "no benchmark copies memory"


def fastest_copy(measurements: Measurements, message_bytes: int) -> Summary | None:
    """Return the time of the fastest copy of the smallest array not below the message, else of the largest array.

    The C library's copy and STREAM's loop are both copies; libraries use whichever is faster, and so the faster is
    the limit. None where no copy was measured on one rank.
    """
    copies = [on.summary for on in measurements.standing("copy", LIMIT, "s") if on.summary.ranks == 1]
    sizes = {measurements.size(one) for one in copies}
    if not sizes:
        return None
    size = min((n for n in sizes if n >= message_bytes), default=max(sizes))
    return min((one for one in copies if measurements.size(one) == size), key=lambda one: one.median or 0.0)
