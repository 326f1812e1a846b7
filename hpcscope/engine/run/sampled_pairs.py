"""The cost of random pairs and what they can find, estimated before they are measured."""

from pathlib import Path
from statistics import median

from hpcscope import units
from hpcscope.catalog.catalog import Catalog
from hpcscope.plan.plan import Plan

USUAL_SWITCH = 32
"""Hosts of a switch where no topology is given."""


def foretold(plan: Plan, catalog: Catalog, topology: Path | None) -> list[str]:
    """Return a line for each number of ranks on which a plan measures random pairs."""
    declared = {place.benchmark.name for place in catalog.standing("pair_sample")}
    rounds: dict[int, set[int]] = {}
    seconds: dict[int, float] = {}
    for launch in plan.launches:
        for case in launch.cases:
            if case.benchmark in declared:
                rounds.setdefault(launch.ranks, set()).add(int(case.parameters["round"]))
                seconds[launch.ranks] = seconds.get(launch.ranks, 0.0) + case.expected_s
    switch = _hosts_of_a_switch(topology) if rounds and topology else USUAL_SWITCH
    return [_words(ranks, len(rounds[ranks]), seconds[ranks], switch) for ranks in sorted(rounds)]


def _words(ranks: int, rounds: int, seconds: float, switch: int) -> str:
    from hpcscope.models.communication.localisation import all_pairs, chance_of_pair, chance_of_path

    measured = units.share(min(1.0, rounds * (ranks // 2) / all_pairs(ranks)))
    path = units.share(chance_of_path(ranks, rounds, switch, switch))
    pair = units.share(chance_of_pair(ranks, rounds))
    return (
        f"Random pairs of {ranks} ranks: {rounds} rounds measure {measured} of all pairs in at most "
        f"{seconds / 60:.1f} min. Each host is in {rounds} pairs. The probability of measuring a slow path "
        f"between two switches of {switch} hosts is {path}; the probability of measuring one slow pair is {pair}."
    )


def _hosts_of_a_switch(topology: Path) -> int:
    from hpcscope.topology.topology import read

    return int(median(len(group.hosts) for group in read(topology, rates=False).group if group.hosts))
