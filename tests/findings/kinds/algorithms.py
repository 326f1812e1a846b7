"""Kinds of findings about algorithms and operations: contexts in which each must fire, and must not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hpcscope.findings.results import Run
from hpcscope.models.scaling.dealing import dealings
from hpcscope.models.scaling.phases_by_rank import PhasesByRank
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import Work
from hpcscope.samples.samples import CaseSamples
from hpcscope.statistics.summary import Summary
from tests.findings.faulty_runs import Change, with_samples, with_summaries
from tests.findings.tried import Tried
from tests.models.curves import noisy, summary

PHASES = ("initialize", "distribute", "compute", "exchange", "collect", "idle")


def algorithm(benchmark: str, ranks: int, seconds: dict[str, float], seed: int = 1, **given: Any) -> list[Summary]:
    """A case with its phases; `seconds` may leave out what takes none."""
    random = np.random.default_rng((seed, ranks, *(hash_of(given))))
    whole = {name: seconds.get(name, 0.0) for name in PHASES}
    communicate = whole["distribute"] + whole["exchange"] + whole["collect"]
    times = {"time_s": sum(whole.values()), "communicate_s": communicate}
    times |= {f"{name}_s": value for name, value in whole.items()}
    return [
        summary(
            noisy(random, value) if value else [np.zeros(15)] * 6,
            benchmark,
            metric,
            "max_rank" if metric == "time_s" else "observed",
            ranks=ranks,
            **given,
        )
        for metric, value in times.items()
    ]


def hash_of(given: dict[str, Any]) -> list[int]:
    return [sum(map(ord, f"{name}{value}")) for name, value in sorted(given.items())]


CANNON, STRIPED = "algorithm.matmul_cannon", "algorithm.matmul_striped"


def cannon(communicate_s: Callable[[int], float], size: int = 512) -> Change:
    """One second of computation over p processes, and so much communication."""

    def change(run: Run) -> Run:
        made = []
        for p in (1, 4, 9, 16):
            parts = {"compute": 1 / p, "exchange": communicate_s(p)}
            made += algorithm(CANNON, p, parts, n=size, variant="plain")
        return with_summaries(run, made)

    return change


def two_products(
    striped: dict[str, float], other: dict[str, float], messages: tuple[int, int] = (24, 96)
) -> Change:
    def change(run: Run) -> Run:
        made = []
        for name, parts, count in ((STRIPED, striped, messages[0]), (CANNON, other, messages[1])):
            moved = Work(bytes=1e8, flops=1e9, messages=count)
            case = algorithm(name, 16, parts, seed=count, n=840, variant="plain")
            made += [one.model_copy(update={"work": moved}) for one in case]
        return with_summaries(run, made)

    return change


def sorting(imbalance: float, ranks: int = 8) -> Change:
    def change(run: Run) -> Run:
        given = {"n": 1 << 20, "variant": "plain", "input": "skewed"}
        made = algorithm("algorithm.sort_psrs", ranks, {"compute": 0.1, "idle": 0.05}, **given)
        share = noisy(np.random.default_rng(3), imbalance, spread=0.002)
        one = summary(share, "algorithm.sort_psrs", "partition_imbalance", "observed", ranks, unit="1", **given)
        return with_summaries(run, [*made, one])

    return change


def operation(cold: float, benchmark: str = "operation.scatter", ranks: int = 4) -> Change:
    """An operation that takes 1 ms into used buffers."""

    def change(run: Run) -> Run:
        random = np.random.default_rng(4)
        times = {"warm": 1e-3, "cold": cold}
        made = [
            summary(noisy(random, t), benchmark, "time_s", "global", ranks, n=840, buffers=buffers, layout="rows")
            for buffers, t in times.items()
        ]
        return with_summaries(run, made)

    return change


def retained(share: float, warm: float | None = None) -> Change:
    """A scatter to four whose messages alone take `share` of its time; the ping-pong is 1 µs and 10 GB/s.

    `warm`: into used buffers it takes so much of that time; by default that was not measured.
    """

    def change(run: Run) -> Run:
        random = np.random.default_rng(5)
        given = {"mode": "standard", "completion": "blocking"}
        pings = [summary(noisy(random, 1e-6 + n / 10e9), message_bytes=n, **given) for n in (1, 1 << 16, 1 << 21)]
        block = 8 * 840**2 / 4
        time_s = 3 * (1e-6 + block / 10e9) / share
        case: dict[str, Any] = {"n": 840, "buffers": "cold", "layout": "rows"}
        made = [summary(noisy(random, time_s), "operation.scatter", "time_s", "global", 4, **case)]
        if warm is not None:
            used = case | {"buffers": "warm"}
            made += [summary(noisy(random, warm * time_s), "operation.scatter", "time_s", "global", 4, **used)]
        return with_summaries(run, [*pings, *made])

    return change


def one_process(rate: Callable[[int], float]) -> Change:
    """Products on one process at so many seconds for each multiplication."""

    def change(run: Run) -> Run:
        sizes = (120, 240, 480, 720, 960)
        made = [algorithm(CANNON, 1, {"compute": rate(n) * n**3}, n=n, variant="plain") for n in sizes]
        return with_summaries(run, [one for case in made for one in case])

    return change


def speedup(sixteen_s: float) -> Change:
    """A second on one process, so much on sixteen."""

    def change(run: Run) -> Run:
        one = algorithm(CANNON, 1, {"compute": 1.0}, n=1680, variant="plain")
        many = algorithm(CANNON, 16, {"compute": sixteen_s}, seed=2, n=1680, variant="plain")
        return with_summaries(run, one + many)

    return change


def iterating(late: int | None, waits: float = 0.2, iterations: int = 100) -> Change:
    """A relaxation on four ranks, of which one may be last to 97 % of the exchanges while the others wait."""

    def change(run: Run) -> Run:
        (template, *_) = (
            one for one in run.raw_samples.cases if (one.case.benchmark, one.case.ranks) == (CANNON, 4)
        )
        random = np.random.default_rng(6)

        def launch() -> CaseSamples:
            times = template.times[0]
            shape = times.elapsed_s.shape
            last = random.dirichlet(np.full(4, 40.0), shape[1]).T
            idle = np.full(shape, 0.01) * times.elapsed_s
            if late is not None:
                last = np.full(shape, 0.01)
                last[late] = 0.97
                idle = waits * times.elapsed_s
                idle[late] = 0.0
            observed = times.observed | {"last_arrival_share": last, "idle_s": idle}
            return replace(
                template,
                case=Case.of(
                    run.benchmarks,
                    "algorithm.relaxation",
                    {"n": 720, "iterations": iterations},
                    template.case.batch,
                ),
                times=[replace(times, observed=observed)],
            )

        return with_samples(run, cases=[launch() for _ in range(6)])

    return change


def latency_of_a_cache(n: int) -> float:
    return 1e-9 if 24 * n**2 < 16 << 20 else 1.8e-9


def stripes(slow: float, by_speed_s: float | None) -> Change:
    """Four processes on two hosts, the second `slow` times as slow, each with a quarter of the rows."""

    def change(run: Run) -> Run:
        given = {"n": 1080, "variant": "plain", "grid_rows": 4}
        made = algorithm(STRIPED, 4, {"compute": 0.1 * slow, "exchange": 0.02}, **given, dealing="even")
        if by_speed_s is not None:
            made += algorithm(STRIPED, 4, {"compute": by_speed_s, "exchange": 0.02}, **given, dealing="by_speed")
        run = with_summaries(run, made)
        launch = run.raw_samples.launches[0]
        processes = [
            launch.processes[0].model_copy(update={"rank": rank, "host": f"node{1 + rank // 2}"})
            for rank in range(4)
        ]
        placed = launch.model_copy(update={"ranks": 4, "placement": Placement(), "processes": processes})
        computed = [0.1, 0.1, 0.1 * slow, 0.1 * slow]
        phases = PhasesByRank(
            subject=made[0].case, origin="measured", ranks_kept=[0, 1, 2, 3], phases_s={"compute_s": computed}
        )
        found = dealings([phases], run.measurements, [placed])
        return run.replaced(models=run.models.model_copy(update={"dealings": found}))

    return change


KINDS = {
    "communication_outweighs": Tried(
        "communication-outweighs",
        [cannon(lambda p: 0.01 * p), cannon(lambda p: 0.3)],
        [cannon(lambda p: 0.001 * p), cannon(lambda p: 0.0), cannon(lambda p: 0.3 if p == 4 else 0.01)],
    ),
    "striped_or_cannon": Tried(
        "striped-or-cannon",
        [
            two_products({"compute": 0.1, "exchange": 0.02}, {"compute": 0.1, "exchange": 0.05}),
            two_products({"compute": 0.15, "exchange": 0.02}, {"compute": 0.1, "exchange": 0.02}),
        ],
        [two_products({"compute": 0.1, "exchange": 0.02}, {"compute": 0.1, "exchange": 0.021})],
    ),
    "rows_by_speed": Tried(
        "rows-by-speed",
        [stripes(3, None), stripes(3, 0.15), stripes(1.5, 0.12)],
        [stripes(1, None), stripes(1.1, None), stripes(3, 0.29), stripes(3, 0.5)],
    ),
    "partition_imbalance": Tried(
        "partition-imbalance", [sorting(3.1), sorting(1.5)], [sorting(1.02), sorting(8.0, 1)]
    ),
    "first_touch_dominates": Tried(
        "first-touch-dominates", [operation(2.6e-3)], [operation(1.5e-3), operation(1e-3)]
    ),
    "cache_knee": Tried("cache-knee", [one_process(latency_of_a_cache)], [one_process(lambda n: 1e-9)]),
    "super_linear": Tried("super-linear", [speedup(1 / 20)], [speedup(1 / 16), speedup(1 / 12)]),
    "late_rank": Tried(
        "late-rank",
        [iterating(2)],
        [iterating(None), iterating(2, waits=0.01), iterating(2, iterations=1)],
    ),
}
