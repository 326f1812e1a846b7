"""The fastest copies of memory by one core: of what the core itself wrote, and of what another core wrote.

Files of the operating system are copied by the core that wrote their data. A message is written by one core and
copied by another, so its limit is the copy between cores: its data come from the cache of the sender.
"""

from typing import Literal

from hpcscope.catalog.catalog import LIMIT, Catalog
from hpcscope.models.ladder.paths import Path
from hpcscope.models.measurements import Measurements
from hpcscope.statistics.summary import Summary

CopyPattern = Literal["copy", "core_copy"]
RANKS: dict[CopyPattern, str] = {"copy": "one rank", "core_copy": "two ranks of one host"}


def not_measured(catalog: Catalog, pattern: CopyPattern) -> str:
    """Return why the limit is missing, with the benchmarks that measure it."""
    names = " or ".join(dict.fromkeys(place.benchmark.name for place in catalog.standing(pattern, LIMIT)))
    return f"{names} was not measured on {RANKS[pattern]}" if names else "no benchmark copies memory"


def fastest_copy(measurements: Measurements, array_bytes: int) -> Summary | None:
    """Return the time of the fastest copy on one rank of the smallest array not below a size, else of the largest.

    The C library's copy and STREAM's loop are both copies; libraries use whichever is faster, and so the faster is
    the limit. None where no copy was measured on one rank.
    """
    copies = [on.summary for on in measurements.standing("copy", LIMIT, "s") if on.summary.ranks == 1]
    return _fastest(measurements, copies, array_bytes)


def fastest_core_copy(measurements: Measurements, path: Path, message_bytes: int) -> Summary | None:
    """Return the same for copies between the two cores of a path, of an array of the message's size.

    All messages of a case arrive in the same buffer, so the array has the size of one message.
    """
    copies = [on.summary for on in measurements.standing("core_copy", LIMIT, "s") if path.placed(on.summary)]
    return _fastest(measurements, copies, message_bytes)


def _fastest(measurements: Measurements, copies: list[Summary], array_bytes: int) -> Summary | None:
    sizes = {measurements.size(copy) for copy in copies}
    if not sizes:
        return None
    size = min((n for n in sizes if n >= array_bytes), default=max(sizes))
    return min((copy for copy in copies if measurements.size(copy) == size), key=lambda copy: copy.median or 0.0)
