"""How often `scope health` names healthy nodes, and how surely slow ones, in fleets of known truth (simulated).

Visits scatter as recorded ones of each check did (tests/health/recorded_scatter.json), scaled to a standard
deviation; equal nodes differ for good by 0.5 %. Both stages are played. Prints Markdown tables for
docs/validation/health.md.
usage: python benchmarks/health_power.py [--fleets N] [--seed N] [--only-links]
       python benchmarks/health_power.py --only-healthy-links [--link-checks N] [--hosts N,...] [--scatters X,...]
       python benchmarks/health_power.py --record RUN...   keeps the scatter of checks of healthy equal hosts
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from math import log
from pathlib import Path

import numpy as np
from scipy.stats import beta

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hpcscope.engine.health import read
from hpcscope.health.checks import BY_NAME
from tests.health import simulated_links
from tests.health.simulated_fleet import RECORDED, Played, played

SIZES = (8, 16, 32, 128, 512)
LINKS = (
    *((nodes, count, 0.1, 0.02) for nodes, count in ((8, 1), (64, 1), (64, 12), (1000, 1), (1000, 200))),
    *((nodes, count, 0.5, 0.1) for nodes, count in ((8, 1), (64, 1), (64, 12), (1000, 1), (1000, 200))),
)
"""Hosts, slow links, by how much, and the scatter of visits."""
KEPT = 60
"""Values of each check that are recorded."""


def healthy(seed: int, fleets: int) -> None:
    print("| nodes | scatter of visits | fleets | node-checks | false | per 1,000 |\n|---|---|---|---|---|---|")
    for scatter in (0.02, 0.1, 0.5):
        for nodes in SIZES:
            found = played_often(seed, fleets, nodes, 0, 0.0, scatter)
            checks, false = sum(each.healthy for each in found), sum(each.false for each in found)
            print(f"| {nodes} | {scatter:.0%} | {fleets:,} | {checks:,} | {false} | {1000 * false / checks:.3f} |")


def slow(seed: int, fleets: int) -> None:
    print("\n| nodes | slow | by | scatter of visits | fleets | named | false | said to be visible (median) |")
    print("|---|---|---|---|---|---|---|---|")
    for scatter, by in ((0.01, 0.1), (0.02, 0.1), (0.1, 0.3)):
        for nodes in SIZES:
            for count in (1, round(nodes / 5)):
                found = played_often(seed, fleets, nodes, count, by, scatter)
                named = sum(each.named for each in found) / sum(each.slow for each in found)
                false = sum(each.false for each in found)
                visible = np.median([each.visible for each in found if each.visible is not None])
                print(
                    f"| {nodes} | {count} | {by:.0%} | {scatter:.0%} | {fleets} | {named:.1%} | {false}"
                    f" | {visible:.1%} |"
                )


def halves(seed: int, fleets: int) -> None:
    print(
        "\n| nodes | slow | by | scatter of visits | fleets | two clusters are told |\n|---|---|---|---|---|---|"
    )
    for nodes in SIZES:
        found = played_often(seed, fleets, nodes, nodes // 2, 0.2, 0.02)
        told = sum(each.two_clusters for each in found) / fleets
        print(f"| {nodes} | half | 20 % | 2 % | {fleets} | {told:.1%} |")


def healthy_links(seed: int, checks: int, sizes: Sequence[int], scatters: Sequence[float]) -> None:
    """Count what both stages name in healthy clusters: hosts, and paths between two hosts."""
    print(
        "\n| hosts | scatter of visits | clusters | link checks | false | per 1,000 | 95 % bound | further pairs |"
        "\n|---|---|---|---|---|---|---|---|"
    )
    for scatter in scatters:
        for nodes in sizes:
            names = [f"n{number}" for number in range(nodes)]
            clusters = -(-checks // nodes)
            none = simulated_links.own_link((), 0.0)
            made = (simulated_links.played(seed + k, names, none, scatter) for k in range(clusters))
            false = pairs = 0
            for each in made:
                false += len(each.named)
                pairs += sum(visit.stage == 2 for visit in each.record.links)
            # The bound of Clopper and Pearson (1934, Biometrika 26, 404-413).
            bound = 1000 * float(beta.ppf(0.95, false + 1, nodes * clusters - false))
            cells = (f"{nodes:,}", f"{scatter:.0%}", clusters, f"{nodes * clusters:,}", false)
            rates = f"{1000 * false / nodes / clusters:.3f} | {bound:.2f} | {pairs / clusters:.0f}"
            print(f"| {' | '.join(map(str, cells))} | {rates} |", flush=True)


def slow_links(seed: int, fleets: int) -> None:
    print(
        "\n| hosts | rounds | slow links | by | scatter of visits | clusters | named | false | further pairs |"
        "\n|---|---|---|---|---|---|---|---|---|"
    )
    for nodes, count, by, scatter in LINKS:
        names = [f"n{number}" for number in range(nodes)]
        slow = names[:count]
        made = [
            simulated_links.played(seed + k, names, simulated_links.own_link(slow, by), scatter)
            for k in range(fleets)
        ]
        named = sum(len(each.named & {(host,) for host in slow}) for each in made)
        false = sum(len(each.named - {(host,) for host in slow}) for each in made)
        first = [visit for each in made for visit in each.record.links if visit.stage == 1]
        again = (sum(len(each.record.links) for each in made) - len(first)) / fleets
        rounds = len(first) / fleets / (nodes // 2)
        share = f"{named / count / fleets:.1%}" if count else "-"
        cells = (f"{nodes:,}", f"{rounds:.0f}", count, f"{by:.0%}", f"{scatter:.0%}", fleets, share, false)
        print(f"| {' | '.join(map(str, cells))} | {again:.0f} |", flush=True)


def played_often(seed: int, fleets: int, nodes: int, count: int, by: float, scatter: float) -> list[Played]:
    random = np.random.default_rng([seed, nodes, count, round(1000 * by), round(1000 * scatter)])
    return [played(random, nodes, count, by, scatter) for _ in range(fleets)]


def record(runs: list[Path]) -> None:
    """Keep the logarithms of the costs of the visits of all hosts, which are emulated and so equal."""
    found: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        for visit in read(run).visits:
            for value in visit.values:
                found[value.check].append(log(BY_NAME[value.check].cost(value.value)))
    costs = {check: [round(value, 4) for value in values[:KEPT]] for check, values in found.items()}
    RECORDED.write_text(json.dumps({"log_costs": costs}, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fleets", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=Path, nargs="+")
    parser.add_argument("--only-links", action="store_true")
    parser.add_argument("--only-healthy-links", action="store_true")
    parser.add_argument("--link-checks", type=int, default=10_000)
    parser.add_argument("--hosts", default="8,64,1000")
    parser.add_argument("--scatters", default="0.02,0.1,0.5")
    options = parser.parse_args()
    if options.record:
        record(options.record)
    elif options.only_healthy_links or options.only_links:
        sizes, scatters = options.hosts.split(","), options.scatters.split(",")
        healthy_links(options.seed, options.link_checks, list(map(int, sizes)), list(map(float, scatters)))
        if options.only_links:
            slow_links(options.seed, options.fleets // 500)
    else:
        healthy(options.seed, options.fleets // 15)
        slow(options.seed, options.fleets // 50)
        halves(options.seed, options.fleets // 50)
        slow_links(options.seed, options.fleets // 500)
