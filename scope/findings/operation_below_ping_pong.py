"""An operation of a program reaches only a part of what the library's messages do."""

from __future__ import annotations

from itertools import pairwise

from scope import units
from scope.findings.context import Context
from scope.findings.finding import Evidence, Finding
from scope.models.fit import Ladder, Rung

WORTH_A_LINE = 0.7
MUCH = 0.3
"""The thesis found 29 to 63 % (Melas 2000, sec. 7.5): what lies below is worse than its worst cluster."""


def find(context: Context) -> list[Finding]:
    """Find operations that certainly retain less than 70 % of the library's bandwidth."""
    return [
        _finding(context, ladder, below, rung)
        for ladder in context.models.ladders
        if ladder.quantity == "bandwidth_bytes_per_s"
        for below, rung in pairwise(ladder.rungs)
        if rung.layer == "operation"
        and rung.retained is not None
        and (rung.retained_high or rung.retained) < WORTH_A_LINE
    ]


def _finding(context: Context, ladder: Ladder, below: Rung, rung: Rung) -> Finding:
    retained = units.share(rung.retained, rung.retained_low, rung.retained_high)
    warm = _same_but_warm(context, rung)
    return Finding(
        code="operation-below-ping-pong",
        severity="advice" if (rung.retained or 0) >= MUCH else "warning",
        title=(
            f"Broadcasting a matrix reaches {units.quantity(rung.value, 'B/s')}, {retained} of what the library's "
            f"messages do ({ladder.path})"
        ),
        where={"path": ladder.path, "layer": "operation", "message_bytes": ladder.message_bytes or 0},
        evidence=[
            Evidence(what=below.name, value=below.value or 0.0, unit="B/s"),
            Evidence(what=rung.name, value=rung.value or 0.0, unit="B/s"),
            *([warm] if warm else []),
        ],
        advice=(
            "Allocate buffers once and use them again: fresh memory is paid for page by page inside the "
            "operation. Where that cannot be, large pages help: `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` with "
            "transparent huge pages set to madvise or always."
        ),
        lost=1 - (rung.retained or 0),
    )


def _same_but_warm(context: Context, rung: Rung) -> Evidence | None:
    """Return the time of the same operation on warm buffers, which tells memory from messages."""
    label = rung.name.replace("memory=cold", "memory=warm")
    for summary in context.headlines:
        if (
            summary.label == label
            and label != rung.name
            and summary.unit == "s"
            and summary.median
            and summary.work
        ):
            rate = summary.work.bytes / summary.ranks / summary.median
            return Evidence(what=label, value=rate, unit="B/s")
    return None
