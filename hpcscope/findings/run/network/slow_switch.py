"""Hosts, switches, rails, paths or pairs that are slower than their peers in a sample of random pairs."""

from dataclasses import dataclass

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.models.communication.pair_matrix import Slow
from hpcscope.models.communication.random_pairs import RandomPairs
from hpcscope.names import plural

NAMED = 8
"""Maximum number of members that a finding names; `models.json` names all."""


@dataclass(frozen=True)
class SampleKind:
    """A kind of slow component: its code, its title for one and for many, and its advice."""

    code: str
    one: str
    many: str
    advice: str


HOSTS = SampleKind(
    "slow-host-messages",
    "Messages from and to {names} take",
    "Messages from and to {number} of {of} hosts ({names}) take",
    "These hosts are slow with every partner: check what they have in common (rack, firmware, cables), then the "
    "adapter, its PCIe width, driver and interrupts. If another finding reports slow computation on a host, "
    "check that host first.",
)
PAIRS = SampleKind(
    "slow-pair",
    "Only the messages between {names} are slow: they take",
    "Messages between {number} pairs of hosts, among them {names}, take",
    "With other partners, these hosts are as fast as other hosts. Check what only these pairs use, such as a "
    "route or a link of the fabric (error counters of the switches, adaptive routing).",
)
GROUPS = SampleKind(
    "slow-switch",
    "Messages from and to the hosts of {kind} {names} take",
    "Messages from and to the hosts of {number} of {of} {kinds} ({names}) take",
    "All hosts of the group are slow with every partner. Check the switch's uplinks, firmware and routes (error "
    "counters, links that are down or trained to a lower rate).",
)
PATHS = SampleKind(
    "slow-path",
    "Messages between {kind} {names} take",
    "Messages on {number} paths between {kinds} ({names}) take",
    "On other paths, the groups are as fast as other groups. Check the links and routes between the groups "
    "(error counters, static routes that share a link).",
)


def find(run: Run) -> list[Finding]:
    """Find what is slow in the samples: one finding per kind, from the sample with the most outliers."""
    outliers = [(*outlier, sample) for sample in run.models.random_pairs for outlier in _all(sample) if outlier[2]]
    most = largest_of_each(outliers, lambda one: (one[0].code, one[1]), lambda one: len(one[2]))
    return [_finding(*outlier) for outlier in most]


def _all(sample: RandomPairs) -> list[tuple[SampleKind, str, list[Slow], int]]:
    return [
        (HOSTS, "", sample.slow_processes, len(sample.names)),
        (PAIRS, "", sample.slow_pairs, sample.pairs),
        *((GROUPS, attribute.name, attribute.slow, len(attribute.groups)) for attribute in sample.attributes),
        *((PATHS, attribute.name, attribute.slow_between, 0) for attribute in sample.attributes),
    ]


def _finding(kind: SampleKind, name: str, slow: list[Slow], of: int, sample: RandomPairs) -> Finding:
    members = [" and ".join(outlier.members) for outlier in slow]
    rest = f" and {len(slow) - NAMED} more" if len(slow) > NAMED else ""
    names = ", ".join(members[:NAMED]) + rest
    words = kind.one if len(slow) == 1 else kind.many
    words = words.format(names=names, number=len(slow), of=of, kind=name, kinds=plural(name))
    worst = slow[0].excess
    # For several outliers the title gives the largest excess, without its interval for lack of room.
    bounds = (worst.low, worst.high) if len(slow) == 1 else ()
    longer = ("" if bounds else "up to ") + units.longer(worst.value, *bounds)
    chance = [attribute.chance for attribute in sample.attributes if kind is PATHS and attribute.name == name]
    return Finding(
        code=kind.code,
        severity="warning",
        title=f"{words} {longer} others ({units.size(sample.message_bytes)}, all pairs at once)",
        where={"pair" if kind in (PAIRS, PATHS) else "host": names, "layer": "mpi"},
        evidence=[
            *(
                Evidence(what=f"excess of {one}", value=each.excess.value)
                for one, each in zip(members, slow[:NAMED], strict=False)
            ),
            Evidence(what="pairs measured", value=f"{sample.pairs} of {sample.of_pairs}"),
            Evidence(what="rounds", value=sample.rounds),
            Evidence(what="launches", value=sample.launches),
            *(Evidence(what="probability of seeing a slow path", value=value) for value in chance),
        ],
        advice=kind.advice,
        lost=worst.value / (1 + worst.value),
    )
