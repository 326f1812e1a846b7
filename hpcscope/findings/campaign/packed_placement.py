"""The cost of placing ranks on one node."""

from hpcscope import units
from hpcscope.findings.campaign import CampaignFacts
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.programs.campaign.placement import LayoutComparison
from hpcscope.statistics.estimate import Estimate

LEAST = 0.05
"""Least slowdown that is worth a line."""
MUCH = 0.2


def find(facts: CampaignFacts) -> list[Finding]:
    """Find layouts on the same number of ranks in which the packed one is slower at 95 % confidence.

    If the machine has no other layout, a full node is compared with a node that holds fewer ranks.
    """
    pairs = facts.analysis.comparisons
    fixed = [layout for layout in pairs if layout.fixed == "processes"]
    findings = [_finding(layout, facts.head.lab) for layout in fixed if _matters(layout.slowdown)]
    if fixed or facts.head.lab:
        return findings
    return [_filling(layout) for layout in pairs if _matters(layout.inflation)]


def _matters(increase: Estimate) -> bool:
    return increase.low is not None and increase.low > 0 and increase.value >= LEAST


def _filling(layout: LayoutComparison) -> Finding:
    waited = layout.off_processor.low is not None and layout.off_processor.low > 0
    return Finding(
        code="packed-placement",
        severity="information",
        title=(
            f"With {layout.packed.words} the total computation takes {units.share(layout.inflation.value)} longer"
            f" than with {layout.spread.words}"
        ),
        where={"layer": "node", "ranks": layout.packed.ranks},
        evidence=[
            _share("computation of all ranks, packed / spread - 1", layout.inflation),
            _share("fraction of the time in which ranks had no core", layout.off_processor),
        ],
        advice=(
            "Ranks waited for a core because other processes ran: the increase does not measure memory contention."
            if waited
            else "If the total work does not depend on the number of ranks, the increase is the cost of shared "
            "caches and memory. `scope run node.stream` shows how many cores saturate the memory."
        ),
        lost=layout.inflation.value / (1 + layout.inflation.value),
    )


def _finding(layout: LayoutComparison, lab: str) -> Finding:
    waits = layout.off_processor.value >= layout.slowdown.value / 2
    part = layout.by_computation if layout.mostly == "computation" else layout.by_communication
    cause, advice = _cause(layout, waits, lab)
    return Finding(
        code="packed-placement",
        severity="advice" if layout.slowdown.value >= MUCH else "information",
        title=(
            f"On {layout.packed.ranks} ranks, the packed placement takes {units.share(layout.slowdown.value)} "
            f"longer than the spread placement: {units.share(part.value)} {cause}"
        ),
        where={"layer": "node" if layout.mostly == "computation" else "network", "ranks": layout.packed.ranks},
        evidence=[
            _share("time packed / time spread - 1", layout.slowdown),
            _share("slowdown due to computation", layout.by_computation),
            _share("slowdown due to communication", layout.by_communication),
            _share("slowdown due to waiting for a core", layout.off_processor),
            Evidence(what=layout.packed.words, value=layout.packed.wall_s.value, unit="s"),
            Evidence(what=layout.spread.words, value=layout.spread.wall_s.value, unit="s"),
        ],
        advice=advice,
        lost=layout.slowdown.value / (1 + layout.slowdown.value),
    )


def _cause(layout: LayoutComparison, waits: bool, lab: str) -> tuple[str, str]:
    if lab:
        return (
            f"from {layout.mostly} (emulated)",
            "The hosts of a lab are namespaces on the same processors and memory. The slowdown of communication "
            "applies to the emulated cluster, but the slowdown of computation does not.",
        )
    if layout.mostly == "communication":
        return (
            "from communication",
            "Ranks of a node share its network interface; messages inside a node go through memory. Look for "
            "slow pairs (`scope run mpi.pairs`), and place neighbors that exchange much data on one node.",
        )
    if waits:
        return (
            "from waiting for a core",
            "Some ranks on a node share a core: check the binding, threads, and other processes.",
        )
    return (
        "from memory contention",
        "The ranks of a node share caches and memory channels: `scope run node.stream` shows how many cores "
        "saturate the memory. It may be faster to leave cores idle, or to run fewer ranks with threads.",
    )


def _share(what: str, estimate: Estimate) -> Evidence:
    known = estimate.low is not None and estimate.high is not None
    interval = f" [{units.share(estimate.low)}, {units.share(estimate.high)}]" if known else ""
    return Evidence(what=what + interval, value=estimate.value)
