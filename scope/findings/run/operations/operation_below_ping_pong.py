"""An operation of a program reaches only a part of what the library's messages do."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context
from scope.findings.run.rungs import Lossy, lossy
from scope.models.fit import OperationParts, Rung

WORTH_A_LINE = 0.7
LADDERS = "operation.broadcast"
"""It stands on the ladders."""
ALONE = "contention, copies, the library's algorithm"
TOGETHER = "what warm variants, not measured here, would tell apart"
"""Names of the rest."""
MUCH = 0.3
"""The thesis found 29 to 63 % (Melas 2000, sec. 7.5): what lies below is worse than its worst cluster."""


def find(context: Context) -> list[Finding]:
    """Find broadcasts that certainly retain less than 70 % of the library's bandwidth, others less than 30 %."""
    found = lossy(context, "bandwidth_bytes_per_s", ("operation",), WORTH_A_LINE)
    return [_finding(context, one) for one in found] + [_of_parts(one) for one in _worst(context)]


def _worst(context: Context) -> list[OperationParts]:
    """Return the case of each operation but the broadcast that certainly retains least, below 30 %.

    One whose warm variant was measured goes before all others: only there can be said why.
    """
    worst: dict[str, OperationParts] = {}
    for one in context.models.operations:
        name, high = one.subject.benchmark, one.retained.high
        if name == LADDERS or high is None or high >= MUCH:
            continue
        if name not in worst or _rank(one) < _rank(worst[name]):
            worst[name] = one
    return list(worst.values())


def _rank(one: OperationParts) -> tuple[bool, float]:
    return not _told_apart(one), one.retained.value


def _told_apart(one: OperationParts) -> bool:
    strided = one.subject.parameters.get("layout") == "columns"
    return one.paging_s is not None and (one.packing_s is not None or not strided)


def _of_parts(one: OperationParts) -> Finding:
    retained = units.share(one.retained.value, one.retained.low, one.retained.high)
    parts = {
        "its messages at the pace of the ping-pong": one.messages_s.value,
        "pages of fresh memory": one.paging_s,
        "gathering of columns": one.packing_s,
        ALONE if _told_apart(one) else TOGETHER: one.rest_s,
    }
    known = {name: value for name, value in parts.items() if value is not None}
    largest = max(list(known)[1:], key=lambda name: known[name])
    return Finding(
        code="operation-below-ping-pong",
        severity="warning",
        title=(
            f"{one.subject.label} delivers {retained} of what a ping-pong of its messages does; "
            f"most goes to {largest}"
        ),
        where={
            "benchmark": one.subject.benchmark,
            "size": int(one.subject.parameters.get("size", 0)),
            "ranks": one.subject.ranks,
            "layer": "operation",
        },
        evidence=[Evidence(what=name, value=value, unit="s") for name, value in known.items()],
        advice=(
            "Use buffers again instead of fresh ones; let rows of a matrix, which lie together, be what is sent; "
            "overlap what one process has to send to many with work."
        ),
        lost=1 - one.retained.value,
    )


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
