"""How well do random pairs localise what is slow among 10,000 hosts? Limits: precision, recall 0.95; alarms 1 %.

Times are generated: healthy hosts and pairs that differ by 1 % for good, noise of 3 % in every launch, normal or
with heavy tails, six launches; hosts stand in switches of 32 with 4 rails. Faults of one kind at a time, each adds
8 % or more to the pairs concerned; in the hardest case 8 % of all hosts are slow at once.
usage: PYTHONPATH=. python benchmarks/pair_sample_power.py [--hosts N] [--rounds N] [--repetitions N] [--healthy N]

With `--repetitions 0 --healthy 300` it asks for false alarms alone: fewer than 1 % of healthy clusters have one,
with 95 % confidence, when none of 300 has.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field

import numpy as np
import scipy  # its modules load when they are first asked for

from hpcscope.models.communication.localisation import Localisation, Pairs, chance_of_path, localise
from hpcscope.models.communication.random_pairs import partners
from hpcscope.samples.samples import Booleans, Floats, Integers

HOSTS, ROUNDS, LAUNCHES = 10_000, 96, 6
PER_SWITCH, RAILS = 32, 4
NOISE, UNEVENNESS = 0.03, 0.01
LIMIT, ALARMS = 0.95, 0.01


@dataclass
class Faults:
    """What is slow: endpoints, switches, rails, and paths between two switches, each by a factor."""

    factor: float = 1.0
    hosts: set[int] = field(default_factory=set)
    switches: set[int] = field(default_factory=set)
    rails: set[int] = field(default_factory=set)
    paths: set[tuple[int, int]] = field(default_factory=set)


def generated(
    random: np.random.Generator, hosts: int, rounds: int, faults: Faults, tails: float = np.inf
) -> tuple[Pairs, dict[str, Integers]]:
    """Return the times of random pairs with these faults, and the switch and the rail of every host."""
    switch, rail = np.arange(hosts) // PER_SWITCH, np.arange(hosts) % RAILS
    firsts, seconds = [], []
    for number in range(1, rounds + 1):
        other = partners(number, hosts)
        first = np.flatnonzero(np.arange(hosts) < other)
        firsts.append(first)
        seconds.append(other[first])
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    own = random.normal(0, UNEVENNESS, hosts) + np.log(faults.factor) * (
        _in(np.arange(hosts), faults.hosts) | _in(switch, faults.switches) | _in(rail, faults.rails)
    )
    whole = np.log(2e-6) + own[first] + own[second] + random.normal(0, UNEVENNESS, len(first))
    count = int(switch.max()) + 1
    cells = np.minimum(switch[first], switch[second]) * count + np.maximum(switch[first], switch[second])
    slow = {min(path) * count + max(path) for path in faults.paths}
    whole = whole + np.log(faults.factor) * _in(cells, slow)
    shape = (LAUNCHES, len(first))
    noise = random.normal(size=shape) if np.isinf(tails) else random.standard_t(tails, shape)
    return Pairs(hosts, first, second, whole + NOISE * noise), {"switch": switch, "rail": rail}


def _in(values: Integers, some: set[int]) -> Booleans:
    return np.isin(values, list(some))


def named(found: Localisation) -> set[tuple[str, tuple[int, ...]]]:
    """Return everything that was found, with its kind."""
    return {
        *(("host", one.members) for one in found.hosts),
        *((name, one.members) for name, ones in found.groups.items() for one in ones),
        *(("path", one.members) for ones in found.paths.values() for one in ones),
        *(("pair", one.members) for one in found.pairs),
    }


def wanted(faults: Faults) -> set[tuple[str, tuple[int, ...]]]:
    """Return what ought to be found."""
    return {
        *(("host", (one,)) for one in faults.hosts),
        *(("switch", (one,)) for one in faults.switches),
        *(("rail", (one,)) for one in faults.rails),
        *(("path", (min(one), max(one))) for one in faults.paths),
    }


def drawn(random: np.random.Generator, hosts: int) -> dict[str, Faults]:
    """Return faults of each kind: a few that are 8 % slow, and 8 % of all at once."""
    switches = -(-hosts // PER_SWITCH)

    def some(count: int, of: int) -> set[int]:
        return {int(one) for one in random.choice(of, count, replace=False)}

    paths = {
        (int(min(a, b)), int(max(a, b)))
        for a, b in (random.choice(switches - 1, 2, replace=False) for _ in range(40))
    }
    return {
        "40 hosts, 8 % slower": Faults(1.08, hosts=some(40, hosts)),
        "8 % of the hosts, 8 % slower": Faults(1.08, hosts=some(hosts * 8 // 100, hosts)),
        "1 switch, 8 % slower": Faults(1.08, switches=some(1, switches - 1)),
        "8 % of the switches, 8 % slower": Faults(1.08, switches=some(max(1, switches * 8 // 100), switches - 1)),
        "1 rail, 8 % slower": Faults(1.08, rails=some(1, RAILS)),
        "40 paths between switches, 8 % slower": Faults(1.08, paths=paths),
        "40 paths between switches, 30 % slower": Faults(1.3, paths=paths),
        "hosts, a switch and paths, 30 % slower": Faults(
            1.3, hosts=some(20, hosts), switches=some(1, switches - 1), paths=paths
        ),
    }


def measured(faults: Faults, found: set[tuple[str, tuple[int, ...]]]) -> tuple[int, int, int]:
    """Return how many were found rightly, found at all, and to be found.

    A host of a slow switch is counted as the switch's.
    """
    right = wanted(faults)
    beside = {("host", (one,)) for one in faults.hosts if one // PER_SWITCH in faults.switches}
    return len(found & right), len(found - beside), len(right - beside)


def upper_bound(events: int, trials: int, confidence: float = 0.95) -> float:
    """Return the largest chance that so few events do not exclude (Clopper and Pearson 1934, Biometrika 26)."""
    return float(scipy.special.betaincinv(events + 1, trials - events, confidence)) if events < trials else 1.0


def main() -> None:
    """Generate faults of each kind, localise them, and print precision and recall."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hosts", type=int, default=HOSTS)
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    arguments.add_argument("--repetitions", type=int, default=3)
    arguments.add_argument("--healthy", type=int, default=10, help="clusters without a fault, of each noise")
    asked = arguments.parse_args()
    random = np.random.default_rng(1)
    chance = chance_of_path(asked.hosts, asked.rounds, PER_SWITCH, PER_SWITCH)
    print(f"{asked.hosts} hosts, {asked.rounds} rounds; two pairs or more on a path: chance {chance:.3f}")
    print(f"{'faults':<44}{'precision':>10}{'recall':>8}{'time':>8}")
    missed = []
    for number, tails in enumerate((np.inf, 3.0)):
        print("normal noise" if np.isinf(tails) else f"heavy tails (Student's t, {tails:g} degrees of freedom)")
        totals: dict[str, Floats] = {}
        begin = time.perf_counter()
        for _ in range(asked.repetitions):
            for name, faults in drawn(random, asked.hosts).items():
                pairs, groups = generated(random, asked.hosts, asked.rounds, faults, tails)
                counts = measured(faults, named(localise(pairs, groups)))
                totals[name] = totals.get(name, np.zeros(3)) + counts
        seconds = (time.perf_counter() - begin) / max(1, asked.repetitions * len(totals))
        for name, (right, found, there) in totals.items():
            precision, recall = right / max(found, 1), right / there
            missed += [name] * int(min(precision, recall) < LIMIT)
            print(f"  {name:<42}{precision:>10.3f}{recall:>8.3f}{seconds:>6.1f} s")
        alarmed = 0
        for cluster in range(asked.healthy):
            # Each cluster has a seed of its own, so that one with an alarm can be looked at alone.
            own = np.random.default_rng((2, number, cluster))
            pairs, groups = generated(own, asked.hosts, asked.rounds, Faults(), tails)
            if told := named(localise(pairs, groups)):
                print(f"  healthy cluster {cluster}: {sorted(told)}", flush=True)
                alarmed += 1
        if asked.healthy:
            bound = upper_bound(alarmed, asked.healthy)
            print(
                f"  clusters with a false alarm: {alarmed} of {asked.healthy},"
                f" at most {bound:.2%} with 95 % confidence",
                flush=True,
            )
        missed += ["alarms"] * int(alarmed > ALARMS * asked.healthy)
    raise SystemExit(f"beyond a limit: {', '.join(missed)}" if missed else 0)


if __name__ == "__main__":
    main()
