"""An operation of a program reaches only a part of what the library's messages do."""

from __future__ import annotations

from scope import units
from scope.findings.context import Context
from scope.findings.finding import Evidence, Finding
from scope.findings.rungs import Lossy, lossy
from scope.models.fit import Rung

WORTH_A_LINE = 0.7
MUCH = 0.3
"""The thesis found 29 to 63 % (Melas 2000, sec. 7.5): what lies below is worse than its worst cluster."""


def find(context: Context) -> list[Finding]:
    """Find operations that certainly retain less than 70 % of the library's bandwidth."""
    found = lossy(context, "bandwidth_bytes_per_s", ("operation",), WORTH_A_LINE)
    return [_finding(context, one) for one in found]


def _finding(context: Context, found: Lossy) -> Finding:
    rung = found.rung
    retained = units.share(rung.retained, rung.retained_low, rung.retained_high)
    warm = _same_but_warm(context, rung)
    return Finding(
        code="operation-below-ping-pong",
        severity="advice" if found.retained >= MUCH else "warning",
        title=(
            f"Broadcasting a matrix reaches {units.quantity(rung.value, 'B/s')}, {retained} of what the library's "
            f"messages do ({found.ladder.path})"
        ),
        where=found.where,
        evidence=[*found.evidence, *([warm] if warm else [])],
        advice=(
            "Allocate buffers once and use them again: fresh memory is paid for page by page inside the "
            "operation. Where that cannot be, large pages help: `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` with "
            "transparent huge pages set to madvise or always."
        ),
        lost=1 - found.retained,
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
