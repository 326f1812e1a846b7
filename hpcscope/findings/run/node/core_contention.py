"""A core computes more slowly when all other cores compute, too, although they use no memory."""

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.findings.run.node.memory_saturated import share
from hpcscope.statistics.estimate import in_percent
from hpcscope.statistics.summary import Summary

PEAK = "node.peak"
EXPECTED = 0.9
"""Least fraction of its rate that a core is expected to keep."""


def find(run: Run) -> list[Finding]:
    """Find register arithmetic that loses over 10 % per core with all cores busy, at 95 % confidence."""
    rates = [s for s in run.measurements.of(PEAK, "flops_per_s") if run.computes_undisturbed(s)]
    one_core = {_kind(s): s for s in rates if s.ranks == 1}
    all_cores = largest_of_each((s for s in rates if s.ranks > 1), _kind, lambda s: s.ranks)
    findings = [_finding(run, one_core[_kind(s)], s) for s in all_cores if _kind(s) in one_core]
    # One finding is enough: the worst over all precisions and instructions.
    return sorted((f for f in findings if f is not None), key=lambda f: -(f.lost or 0))[:1]


def _kind(summary: Summary) -> object:
    return summary.placement, tuple(sorted(summary.parameters.items()))


def _finding(run: Run, one_core: Summary, all_cores: Summary) -> Finding | None:
    cores = all_cores.ranks
    kept = share(all_cores, one_core).scaled(1 / cores)
    if kept.high is None or kept.high >= EXPECTED:
        return None
    return Finding(
        code="core-contention",
        severity="advice",
        title=f"With all {cores} cores busy, each core reaches {in_percent(kept)} of the rate of one core alone",
        where={"layer": "node", "benchmark": PEAK, "ranks": cores, "placement": str(all_cores.placement)},
        evidence=run.evidence(one_core, all_cores),
        advice=(
            "The clock may drop when all cores are busy (turbo, power or thermal limits). Two ranks may share "
            "a core (hardware threads), or a hypervisor may share the cores with other machines. Check "
            "`turbostat`, bind ranks to cores, and look for stolen time (`st` in `top`)."
        ),
        lost=1 - kept.value,
    )
