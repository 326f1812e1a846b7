"""What one core copies: no message through memory is faster than one copy of it."""

from __future__ import annotations

from collections.abc import Iterable

from scope.statistics.summary import Summary

NOT_MEASURED = "neither node.memory_copy nor node.stream kernel=copy was measured on one rank"


def fastest_copy(summaries: Iterable[Summary], message_bytes: int) -> Summary | None:
    """Return the time of the fastest copy of the smallest array not below the message, else of the largest array.

    The C library's copy and STREAM's loop are both copies; libraries use whichever is faster, and so the faster is
    the limit. None where no copy was measured on one rank.
    """
    copies = [s for s in summaries if _is_copy(s)]
    sizes = {copied_bytes(s) for s in copies}
    if not sizes:
        return None
    size = min((n for n in sizes if n >= message_bytes), default=max(sizes))
    return min((s for s in copies if copied_bytes(s) == size), key=lambda s: s.median or 0.0)


def copied_bytes(copy: Summary) -> int:
    """Return the payload of a copy in bytes: each byte counts once, as in a message."""
    return int(copy.parameters["array_bytes"])


def _is_copy(summary: Summary) -> bool:
    is_copy = summary.benchmark == "node.memory_copy" or (
        summary.benchmark == "node.stream" and summary.parameters.get("kernel") == "copy"
    )
    usable = summary.primary and summary.valid and summary.median is not None
    return is_copy and usable and summary.metric == "time_s" and summary.ranks == 1
