"""A core computes more slowly when all the others compute too, though they share no memory."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Finding
from scope.findings.run.context import Context, figure
from scope.findings.run.measurement.oversubscription import crowded
from scope.findings.run.node.memory_saturated import share
from scope.statistics.summary import Summary

KEPT = 0.9
"""Share of its own rate that a core is expected to keep."""


def find(context: Context) -> list[Finding]:
    """Find arithmetic on registers (node.peak) that certainly loses more than 10 % per core when all work."""
    crowds = crowded(context)
    rates = [
        s
        for s in context.headlines
        if s.benchmark == "node.peak"
        and s.metric == "flops_per_s"
        and (s.ranks, s.transport, s.placement) not in crowds
    ]
    alone = {_kind(s): s for s in rates if s.ranks == 1}
    together: dict[object, Summary] = {}
    for s in rates:
        if s.ranks > 1 and s.ranks > (together[_kind(s)].ranks if _kind(s) in together else 1):
            together[_kind(s)] = s
    found = [_finding(alone[kind], s) for kind, s in together.items() if kind in alone]
    # One finding tells it: the worst of precisions and instructions.
    return sorted((f for f in found if f is not None), key=lambda f: -(f.lost or 0))[:1]


def _kind(summary: Summary) -> object:
    return summary.placement, tuple(sorted(summary.parameters.items()))


def _finding(alone: Summary, together: Summary) -> Finding | None:
    both = share(together, alone)
    cores = together.ranks
    if both.high is None or both.high / cores >= KEPT:
        return None
    kept = units.share(both.value / cores, (both.low or 0) / cores, both.high / cores)
    return Finding(
        code="core-contention",
        severity="advice",
        title=f"Each of {cores} cores computes at {kept} of its rate alone when all compute",
        where={"layer": "node", "benchmark": "node.peak", "ranks": cores, "placement": together.placement},
        evidence=[figure(alone), figure(together)],
        advice="The clock falls when all cores are busy (turbo, power or thermal limits), two ranks share a "
        "core's units (hardware threads), or a hypervisor shares the cores with other machines: compare "
        "`turbostat`, bind ranks to cores, and look for stolen time (`st` in `top`).",
        lost=1 - both.value / cores,
    )
