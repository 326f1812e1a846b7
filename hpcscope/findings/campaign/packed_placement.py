"""The cost of placing processes on one node."""

from __future__ import annotations

from hpcscope import units
from hpcscope.findings.campaign.facts import CampaignFacts
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.programs.campaign.placement import LayoutComparison
from hpcscope.statistics.estimate import Estimate

LEAST = 0.05
"""A smaller slow-down is not worth a line."""
MUCH = 0.2


def find(facts: CampaignFacts) -> list[Finding]:
    """Find layouts with the same number of processes of which the packed one is certainly slower.

    Where the machine has no other layout, a full node is compared with fewer processes on it.
    """
    pairs = facts.analysis.comparisons
    fixed = [each for each in pairs if each.fixed == "processes"]
    found = [
        _finding(each, facts.head.lab)
        for each in fixed
        if each.slowdown.low and each.slowdown.low > 0 and _worth(each)
    ]
    if fixed or facts.head.lab:
        return found
    return [_filling(each) for each in pairs if _inflates(each)]


def _worth(each: LayoutComparison) -> bool:
    return each.slowdown.value >= LEAST


def _inflates(each: LayoutComparison) -> bool:
    return each.inflation.low is not None and each.inflation.low > 0 and each.inflation.value >= LEAST


def _filling(each: LayoutComparison) -> Finding:
    waited = each.off_processor.low is not None and each.off_processor.low > 0
    return Finding(
        code="packed-placement",
        severity="information",
        title=(
            f"With {each.packed.words} the total computation takes {units.share(each.inflation.value)} longer than"
            f" with {each.spread.words}"
        ),
        where={"layer": "node", "ranks": each.packed.ranks},
        evidence=[
            *_share("computation of all ranks, packed over spread, less one", each.inflation),
            *_share("share of the time without a processor", each.off_processor),
        ],
        advice=(
            "Ranks waited for a processor: other processes ran here, and the figure does not measure the memory."
            if waited
            else "If the total work does not depend on the number of processes, this is the cost of shared caches "
            "and memory; `scope run node.stream` shows how many cores the memory can feed."
        ),
        lost=each.inflation.value / (1 + each.inflation.value),
    )


def _finding(each: LayoutComparison, lab: str) -> Finding:
    waits = each.off_processor.value >= each.slowdown.value / 2
    part = each.by_computation if each.mostly == "computation" else each.by_communication
    cause, advice = _cause(each, waits, lab)
    return Finding(
        code="packed-placement",
        severity="advice" if each.slowdown.value >= MUCH else "information",
        title=(
            f"Packed placement costs {units.share(each.slowdown.value)} on {each.packed.ranks} processes:"
            f" {units.share(part.value)} {cause}"
        ),
        where={"layer": "node" if each.mostly == "computation" else "network", "ranks": each.packed.ranks},
        evidence=[
            *_share("packed over spread, less one", each.slowdown),
            *_share("of this, computation", each.by_computation),
            *_share("of this, communication", each.by_communication),
            *_share("of this, without a processor", each.off_processor),
            Evidence(what=each.packed.words, value=each.packed.wall_s.value, unit="s"),
            Evidence(what=each.spread.words, value=each.spread.wall_s.value, unit="s"),
        ],
        advice=advice,
        lost=each.slowdown.value / (1 + each.slowdown.value),
    )


def _cause(each: LayoutComparison, waits: bool, lab: str) -> tuple[str, str]:
    if lab:
        return (
            f"from {each.mostly} (emulated)",
            "The hosts of a lab are namespaces on the same processors and memory: the communication part is that "
            "of such a cluster, the computation part is not.",
        )
    if each.mostly == "communication":
        return (
            "from communication",
            "Processes of a node share its network interface, and messages inside it go through memory. Check the"
            " pairs (`scope run mpi.pairs`), and place neighbors that exchange much on one node.",
        )
    if waits:
        return (
            "from waiting for a processor",
            "The processes of a node do not each have a core: check the binding, threads, and other processes.",
        )
    return (
        "from memory contention",
        "The processes of a node share caches and memory channels: `scope run node.stream` shows how many cores "
        "the memory can feed. Idle cores, or fewer processes with threads on shared data, may cost less.",
    )


def _share(what: str, estimate: Estimate) -> list[Evidence]:
    found = [Evidence(what=what, value=estimate.value)]
    if estimate.low is not None and estimate.high is not None:
        found[0] = Evidence(
            what=f"{what} [{units.share(estimate.low)}, {units.share(estimate.high)}]", value=estimate.value
        )
    return found
