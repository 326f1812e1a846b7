"""An operation takes longer for the pages of its fresh buffers than for everything else."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Finding
from scope.findings.run.context import Context, figure
from scope.findings.run.measurement.oversubscription import crowded
from scope.models.fitting.ratios import Figure, ratio
from scope.statistics.summary import Summary

DOMINATES = 2.0
"""Fresh buffers certainly take so many times as long as used ones: most of the time is theirs."""


def find(context: Context) -> list[Finding]:
    """Find for each operation the size at which fresh memory certainly costs more than half of the time, by most.

    Melas 2000, sec. 7.5.1: demand paging halved the bandwidth of large broadcasts on the BIP cluster.
    """
    crowds = crowded(context)
    times = {
        _key(s, str(s.parameters["memory"])): s
        for s in context.headlines
        if s.benchmark.startswith("operation.")
        and s.unit == "s"
        and "memory" in s.parameters
        and (s.ranks, s.transport, s.placement) not in crowds
    }
    worst: dict[str, tuple[Figure, Summary, Summary]] = {}
    for cold in times.values():
        warm = times.get(_key(cold, "warm"))
        if cold.parameters["memory"] != "cold" or warm is None:
            continue
        excess = ratio(_figure(cold), _figure(warm))
        known = worst.get(cold.benchmark)
        if (excess.low or 0.0) > DOMINATES and (known is None or excess.value > known[0].value):
            worst[cold.benchmark] = (excess, cold, warm)
    return [_finding(excess, cold, warm) for excess, cold, warm in worst.values()]


def _key(one: Summary, memory: str) -> tuple[object, ...]:
    others = tuple(sorted((k, v) for k, v in one.parameters.items() if k != "memory"))
    return (one.benchmark, others, memory, one.metric, one.ranks, one.transport, one.placement, one.origin)


def _figure(summary: Summary) -> Figure:
    return Figure(summary.median or 0.0, summary.ci_low, summary.ci_high)


def _finding(excess: Figure, cold: Summary, warm: Summary) -> Finding:
    share = 1 - 1 / excess.value
    return Finding(
        code="paging-dominates",
        severity="advice",
        title=(
            f"{cold.benchmark} takes {units.quantity(cold.median, 's')} into fresh memory and "
            f"{units.quantity(warm.median, 's')} into used: {units.share(share)} of its time goes to pages "
            f"(size {cold.parameters.get('size', '')}, {cold.ranks} ranks)"
        ),
        where={
            "benchmark": cold.benchmark,
            "size": int(cold.parameters.get("size", 0)),
            "ranks": cold.ranks,
            "layer": "operation",
        },
        evidence=[figure(cold), figure(warm)],
        advice=(
            "Allocate buffers once and use them again. Where that cannot be, large pages help: "
            "`GLIBC_TUNABLES=glibc.malloc.hugetlb=1` with transparent huge pages set to madvise or always."
        ),
        lost=share,
    )
