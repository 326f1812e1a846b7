"""The fastest memory copies by one core: of data that the core itself wrote, or that another core wrote.

The core that wrote the data of a file also copies them to the operating system. One core writes a message and
another copies it, so its limit is the copy between cores: its data come from the sender's cache.
"""

from typing import Literal

from hpcscope.catalog.catalog import LIMIT, Catalog
from hpcscope.models.ladder.paths import Path
from hpcscope.models.measurements import Measurements, benchmarks_of
from hpcscope.statistics.summary import Summary

CopyPattern = Literal["copy", "core_copy"]
RANKS: dict[CopyPattern, str] = {"copy": "one rank", "core_copy": "two ranks of one host"}


def not_measured(catalog: Catalog, pattern: CopyPattern) -> str:
    """Return why the limit is missing, with the benchmarks that measure it."""
    names = benchmarks_of(catalog.standing(pattern, LIMIT))
    return f"{names} was not measured on {RANKS[pattern]}" if names else "no benchmark copies memory"


def fastest_copy(measurements: Measurements, array_bytes: int) -> Summary | None:
    """Return the fastest one-rank copy of the smallest array of at least this size, else of the largest array.

    The C library's copy and STREAM's loop are both copies. Libraries use whichever is faster, so the faster one is
    the limit. None if no copy was measured on one rank.
    """
    copies = [on.summary for on in measurements.standing("copy", LIMIT, "s") if on.summary.ranks == 1]
    return _fastest(measurements, copies, array_bytes)


def fastest_core_copy(measurements: Measurements, path: Path, message_bytes: int) -> Summary | None:
    """Return the same for copies between the two cores of a path, of an array as large as the message.

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
