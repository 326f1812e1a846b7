"""False alarms of each kind of finding on healthy data, and the smallest effect that it finds.

Runs are simulated from a known truth: launches scatter by 2 %, samples within a launch by 4 %, six launches.
Prints a Markdown table for docs/validation/findings.md: the share of healthy runs with an alarm, with its upper
95 % bound, and the smallest effect of a series that nine of ten runs report.
usage: python benchmarks/finding_power.py [--runs N] [--only CODE]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log2
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hpcscope.findings.results import Run, derived
from hpcscope.findings.run.network.slow_host import compare
from hpcscope.plan.placement import Placement
from hpcscope.statistics.summary import Summary
from tests import golden_run
from tests.declared import catalog
from tests.findings.faulty_runs import run_kinds, with_summaries, with_usable
from tests.findings.test_slow_host import cluster
from tests.models.breaking import BASELINE, bent, jumping, looked_at_again
from tests.models.curves import noisy, summary

Random = np.random.Generator
SPREAD = 0.02
LAUNCH_FACTOR = 0.15
MIB = 1 << 20
SIZES = [0, 1, 64, 256, 1024, 4096, 16384, 65536, 262144, MIB]
EFFECTS = [0.02, 0.03, 0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
POWER = 0.9


@dataclass(frozen=True)
class Study:
    """How a fault of known size is made."""

    code: str
    kind: str
    """The file of the kind."""
    effect: str
    """What the size of the fault means."""
    made: Callable[[Run, Random, float], Run]
    """Return a run with a fault of this size; 0 is healthy."""
    effects: tuple[float, ...] = tuple(EFFECTS)


def drawn(
    random: Random, truth: float, benchmark: str, metric: str, definition: str, ranks: int, **parameters: object
) -> Summary:
    """Return a time of known truth, in seconds."""
    return summary(noisy(random, truth, spread=SPREAD), benchmark, metric, definition, ranks, **parameters)


def rate(random: Random, truth: float, benchmark: str, metric: str, ranks: int, **parameters: object) -> Summary:
    """Return a rate of known truth."""
    made = [1 / launch for launch in noisy(random, 1 / truth, spread=SPREAD)]
    unit = "B/s" if metric.startswith("bandwidth") else "flop/s"
    return summary(made, benchmark, metric, "max_rank", ranks, unit=unit, **parameters)


def ping_pongs(random: Random, time_s: Callable[[int], float], **parameters: object) -> list[Summary]:
    """Return the library's ping-pong over sizes."""
    given = {"mode": "standard", "completion": "blocking"} | parameters
    return [
        drawn(random, time_s(n), "mpi.latency", "latency_s", "half_round_trip", 2, message_bytes=n, **given)
        for n in SIZES
    ]


def line(n: int) -> float:
    """Return the time of a message: 1 us and 8 GB/s."""
    return 1e-6 + n / 8e9


def library_overhead(run: Run, random: Random, effect: float) -> Run:
    """Let the library take longer than TCP below it."""
    tcp = {"protocol": "tcp", "message_bytes": 1, "nodelay": "on", "wait": "polling"}
    mpi = {"message_bytes": 1, "mode": "standard", "completion": "blocking", "transport": "tcp"}
    wire = drawn(random, 1e-5, "network.latency", "latency_s", "half_round_trip", 2, **tcp)
    library = drawn(random, 1e-5 * (1 + effect), "mpi.latency", "latency_s", "half_round_trip", 2, **mpi)
    return with_summaries(run, [wire, library])


def protocol_switch(run: Run, random: Random, effect: float) -> Run:
    """Let the time jump by a share of itself above a size between those of the baseline; healthy: three slopes."""
    truth = jumping(random, effect)[1] if effect else bent(random)
    return with_summaries(run, looked_at_again(random, truth, BASELINE, SPREAD))


def exchange_in_uneven_launches(run: Run, random: Random, effect: float) -> Run:
    """Let MPI_Sendrecv take longer than a send and a receive in turn, measured in the same launches."""
    factors = np.exp(random.normal(0, LAUNCH_FACTOR, 6))
    made = []
    for n in SIZES:
        for benchmark, metric, definition, time_s, given in (
            (
                "mpi.latency",
                "latency_s",
                "half_round_trip",
                line(n),
                {"mode": "standard", "completion": "blocking"},
            ),
            ("mpi.comms2", "time_s", "local", 2 * line(n) * (1 + effect), {}),
        ):
            times = noisy(random, time_s, spread=SPREAD)
            launches = [factor * one for factor, one in zip(factors, times, strict=True)]
            given = {**given, "message_bytes": n}
            made.append(summary(launches, benchmark, metric, definition, numbers=range(1, 7), **given))
    return with_summaries(run, made)


def self_consistency(run: Run, random: Random, effect: float) -> Run:
    """Let MPI_Sendrecv take longer than a send and a receive in turn; healthy: exactly as long, the worst case."""
    exchanges = [
        drawn(random, 2 * line(n) * (1 + effect), "mpi.comms2", "time_s", "local", 2, message_bytes=n)
        for n in SIZES
    ]
    return with_summaries(run, [*ping_pongs(random, line), *exchanges])


def local_slower(run: Run, random: Random, effect: float) -> Run:
    """Let a pair on one host take longer than a pair on two; healthy: exactly as long."""
    remote = [one.model_copy(update={"placement": Placement("node")}) for one in ping_pongs(random, line)]
    return with_summaries(run, [*ping_pongs(random, lambda n: line(n) * (1 + effect)), *remote])


def memory_saturated(run: Run, random: Random, effect: float) -> Run:
    """Let the triad of 16 cores saturate below them: a share of the cores adds nothing."""
    given = {"kernel": "triad", "array_bytes": 1 << 26}
    made = [
        rate(random, min(p, 16 * (1 - effect)) * 12e9, "node.stream", "bandwidth_bytes_per_s", p, **given)
        for p in range(1, 17)
    ]
    return with_summaries(run, made)


def core_contention(run: Run, random: Random, effect: float) -> Run:
    """Let each of 16 busy cores lose a share of its rate."""
    given = {"precision": "double", "instructions": "widest"}
    together = rate(random, 16 * 5e10 * (1 - effect), "node.peak", "flops_per_s", 16, **given)
    return with_summaries(run, [rate(random, 5e10, "node.peak", "flops_per_s", 1, **given), together])


def noise(run: Run, random: Random, effect: float) -> Run:
    """Let interruptions take a share of the processor; healthy: 0.2 %."""
    truths = {
        "noise_share": ("1", effect or 0.002),
        "longest_detour_s": ("s", 4e-5),
        "detours_per_s": ("1/s", 250.0),
    }
    made = [
        summary(noisy(random, truth, spread=SPREAD), "node.noise", metric, "observed", 16, unit=unit, quanta=50000)
        for metric, (unit, truth) in {**truths, "period_s": ("s", 1e-9)}.items()
    ]
    return with_summaries(run, made)


def blas_below_peak(run: Run, random: Random, effect: float) -> Run:
    """Let the product stay below the peak by a share; healthy: 10 %."""
    peak = rate(random, 1e11, "node.peak", "flops_per_s", 1, precision="double", instructions="widest")
    reached = 1 - (effect or 0.1)
    product = rate(random, reached * 1e11, "node.matrix_multiply", "flops_per_s", 1, precision="double", n=500)
    return with_summaries(run, [peak, product])


def collective(run: Run, random: Random, time_s: Callable[[int], float]) -> Run:
    """Measure an allreduce of 1 KiB over numbers of processes."""
    given = {"message_bytes": 1024, "call": "blocking"}
    counts = (2, 3, 4, 5, 6, 7, 8, 12, 16)
    made = [drawn(random, time_s(p), "mpi.allreduce", "time_s", "global", p, **given) for p in counts]
    return with_summaries(run, made)


def odd_process_count(run: Run, random: Random, effect: float) -> Run:
    """Let it take longer on 6 processes than on 8; healthy: as long as on 8."""
    return collective(run, random, lambda p: (1e-6 + 2e-6 * ceil(log2(p))) * (1 + effect if p == 6 else 1))


def linear_collective(run: Run, random: Random, effect: float) -> Run:
    """Let a share of the time grow with the number of processes, the rest with its logarithm."""
    return collective(
        run, random, lambda p: 1e-6 + 2e-6 * ((1 - effect) * ceil(log2(p)) + effect * (p - 1) * 4 / 15)
    )


def first_touch(run: Run, random: Random, effect: float) -> Run:
    """Let a share of the time into fresh buffers be first touch; healthy: a quarter."""
    times = {"warm": 1e-3, "cold": 1e-3 / (1 - (effect or 0.25))}
    made = [
        drawn(random, each, "operation.scatter", "time_s", "global", 4, n=840, buffers=buffers, layout="rows")
        for buffers, each in times.items()
    ]
    return with_summaries(run, made)


def bandwidth_below_layer(run: Run, random: Random, effect: float) -> Run:
    """Let the library lose a share of the bandwidth of TCP."""
    made = []
    for benchmark, share, given in (
        ("network.latency", 1.0, {"protocol": "tcp", "nodelay": "on", "wait": "polling"}),
        ("mpi.latency", 1 - effect, {"mode": "standard", "completion": "blocking", "transport": "tcp"}),
    ):
        times = noisy(random, 1e-3 / share, spread=SPREAD)
        given = {**given, "message_bytes": MIB, "work_bytes": MIB}
        made.append(summary(times, benchmark, **given))
        rates = [MIB / launch for launch in times]
        made.append(summary(rates, benchmark, "bandwidth_bytes_per_s", unit="B/s", **given))
    return with_summaries(run, made)


def operation_below(run: Run, random: Random, effect: float) -> Run:
    """Let a scatter to four, into used and fresh buffers alike, lose a share of the pace of the ping-pong."""
    block = 8 * 840**2 / 4
    time_s = 3 * line(int(block)) / (1 - effect)
    given = {"n": 840, "layout": "rows"}
    made = [
        drawn(random, time_s, "operation.scatter", "time_s", "global", 4, buffers=buffers, **given)
        for buffers in ("cold", "warm")
    ]
    return with_summaries(run, [*ping_pongs(random, line), *made])


def program(random: Random, benchmark: str, compute_s: float, communicate_s: float) -> list[Summary]:
    """Return a matrix product on 16 processes."""
    given = {"n": 840, "variant": "plain"}
    parts = {"compute_s": compute_s, "communicate_s": communicate_s, "exchange_s": communicate_s, "idle_s": 1e-6}
    made = [drawn(random, value, benchmark, name, "observed", 16, **given) for name, value in parts.items()]
    return [*made, drawn(random, compute_s + communicate_s, benchmark, "time_s", "max_rank", 16, **given)]


def communication_outweighs(run: Run, random: Random, effect: float) -> Run:
    """Let communication take longer than computation; healthy: exactly as long."""
    return with_summaries(run, program(random, "algorithm.matmul_cannon", 0.1, 0.1 * (1 + effect)))


def striped_or_cannon(run: Run, random: Random, effect: float) -> Run:
    """Let one of the matrix products compute longer than the other; healthy: exactly as long."""
    cannon = program(random, "algorithm.matmul_cannon", 0.1, 0.02)
    return with_summaries(run, [*cannon, *program(random, "algorithm.matmul_striped", 0.1 + 0.12 * effect, 0.02)])


def slow_host(run: Run, random: Random, effect: float) -> Run:
    """Let one of eight hosts be slower; healthy hosts differ by 0.5 % by nature."""
    factors = {2: 1 + effect} if effect else {}
    return cluster(run, 8, factors, int(random.integers(1 << 30)))


def slow_hosts(run: Run, random: Random, effect: float) -> Run:
    """Let three of eight hosts be slower."""
    factors = dict.fromkeys((2, 5, 6), 1 + effect) if effect else {}
    return cluster(run, 8, factors, int(random.integers(1 << 30)))


def most_hosts_slow(run: Run, random: Random, effect: float) -> Run:
    """Let five of eight hosts be slower."""
    factors = dict.fromkeys((0, 2, 3, 5, 6), 1 + effect) if effect else {}
    return cluster(run, 8, factors, int(random.integers(1 << 30)))


def slow_at_times(run: Run, random: Random, effect: float) -> Run:
    """Let one of eight hosts be slower in four of six launches."""
    factors = {2: 1 + effect} if effect else {}
    return cluster(run, 8, factors, int(random.integers(1 << 30)), launches_slow=4)


STUDIES = [
    Study("library-overhead", "library_overhead", "added to the latency of the transport", library_overhead),
    Study("bandwidth-below-layer", "bandwidth_below_layer", "below the bandwidth of TCP", bandwidth_below_layer),
    Study("operation-below-ping-pong", "operation_below_ping_pong", "below the ping-pong", operation_below),
    Study(
        "communication-outweighs", "communication_outweighs", "longer than computation", communication_outweighs
    ),
    Study("striped-or-cannon", "striped_or_cannon", "longer than the other product", striped_or_cannon),
    Study("protocol-switch", "protocol_switch", "jump of the time", protocol_switch),
    Study("self-consistency", "self_consistency", "longer than the composition", self_consistency),
    Study(
        "self-consistency",
        "self_consistency",
        "longer than the composition, in launches that differ by 15 %",
        exchange_in_uneven_launches,
    ),
    Study("local-pair-slower", "local_slower", "longer inside a host than between two", local_slower),
    Study("odd-process-count", "odd_process_count", "longer than on 8 processes", odd_process_count),
    Study("linear-collective", "linear_collective", "of the growth is linear", linear_collective, (*EFFECTS, 1.0)),
    Study("memory-saturated", "memory_saturated", "of the cores add nothing", memory_saturated),
    Study("core-contention", "core_contention", "less rate of each busy core", core_contention),
    Study("noise", "noise", "of the processor", noise, (0.01, 0.011, 0.012, 0.015, 0.02, 0.03)),
    Study("blas-below-peak", "blas_below_peak", "below the peak", blas_below_peak),
    Study("first-touch-dominates", "first_touch", "of the time is first touch", first_touch, (*EFFECTS, 0.55)),
    Study("slow-host", "slow_host", "slower than its seven peers", slow_host),
    Study("slow-host", "slow_host", "slower, three hosts of eight", slow_hosts),
    Study("slow-host", "slow_host", "slower, five hosts of eight", most_hosts_slow),
    Study("slow-host", "slow_host", "slower, in four launches of six", slow_at_times),
]


def share_found(study: Study, run: Run, effect: float, runs: int) -> float:
    """Return the share of runs with a fault of this size in which the kind reports it."""
    kind = run_kinds()[study.kind]
    seeds = (np.random.default_rng((number, round(1e6 * effect))) for number in range(runs))
    found = [kind(study.made(run, random, effect)) for random in seeds]
    return float(np.mean([any(one.code == study.code for one in each) for each in found]))


def smallest_found(study: Study, run: Run, runs: int) -> float | None:
    """Return the smallest effect of the series that nine of ten runs report; None where there is none."""
    return next((one for one in sorted(study.effects) if share_found(study, run, one, runs) >= POWER), None)


HOSTS = {
    "each host is 35 % slower in 15 % of its launches": (0.02, 0.005, 0.15, 0.0),
    "launches scatter by 5 %": (0.05, 0.005, 0.0, 0.0),
    "hosts differ by 2 % by nature": (0.02, 0.02, 0.0, 0.0),
    "launches scatter by 5 %, one host is 8 % slower": (0.05, 0.005, 0.0, 0.08),
    "launches scatter by 2 %, one host is 8 % slower": (0.02, 0.005, 0.0, 0.08),
}
"""Scatter of launches and of hosts, share of launches in which any host is slow, and excess of one host."""


def slow_hosts_over_launches(runs: int) -> None:
    """Print how often hosts are said to be slow that are not, and one that is, by hosts and launches."""
    print("\n| hosts | launches | what happens | healthy hosts accused | slow host found |\n|---|---|---|---|---|")
    for words, (scatter, nature, often, effect) in HOSTS.items():
        for hosts, launches in ((8, 6), (8, 8), (8, 12), (64, 12)):
            random = np.random.default_rng(1)
            names = [f"node{i}" for i in range(hosts)]
            false, found = 0, 0
            for _ in range(runs):
                table = random.normal(0, nature, hosts) + random.normal(0, scatter, (launches, hosts))
                table += 0.3 * (random.random(table.shape) < often)
                table[:, 2] += np.log1p(effect)
                table -= np.median(table, axis=1, keepdims=True)
                excesses = [dict(zip(names, row, strict=True)) for row in table.tolist()]
                said = {one.host for one in compare(excesses, names) if one.slow_launches}
                false += bool(said - ({"node2"} if effect else set()))
                found += "node2" in said
            power = f"{100 * found / runs:.0f} %" if effect else "–"
            print(f"| {hosts} | {launches} | {words} | {100 * false / runs:.1f} % | {power} |", flush=True)


def main() -> None:
    """Print a row for each kind."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=300)
    arguments.add_argument("--only")
    asked = arguments.parse_args()
    folder = tempfile.TemporaryDirectory()
    run = derived(golden_run.write(Path(folder.name) / "golden")).replaced(benchmarks=catalog())
    run = with_usable(run, 16)
    print("| code | false alarms | smallest effect found in nine of ten |")
    print("|---|---|---|")
    for study in STUDIES:
        if asked.only not in (None, study.code):
            continue
        alarms = share_found(study, run, 0.0, asked.runs)
        bound = float(
            stats.beta.ppf(0.95, round(alarms * asked.runs) + 1, asked.runs - round(alarms * asked.runs))
        )
        effect = smallest_found(study, run, max(20, asked.runs // 5))
        smallest = "none of the series" if effect is None else f"{100 * effect:.3g} % {study.effect}"
        print(f"| `{study.code}` | {100 * alarms:.1f} % (below {100 * bound:.1f} %) | {smallest} |", flush=True)
    if asked.only in (None, "slow-host"):
        slow_hosts_over_launches(asked.runs)


if __name__ == "__main__":
    main()
