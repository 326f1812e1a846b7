"""Findings about algorithms and operations: each fires where a fault was put in, and not where all is well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scope.findings.run.context import Context
from scope.models.scaling.dealing import dealings
from scope.models.scaling.phases_by_rank import PhasesByRank
from scope.plan.case import Case
from scope.plan.placement import Placement
from scope.samples.records import Work
from scope.samples.samples import CaseSamples
from scope.statistics.summary import Summary
from tests.findings.contexts import Change, run_kinds, with_samples, with_summaries
from tests.models.curves import noisy, summary

PHASES = ("initialise", "distribute", "compute", "exchange", "collect", "idle")


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

    def change(context: Context) -> Context:
        made = []
        for p in (1, 4, 9, 16):
            parts = {"compute": 1 / p, "exchange": communicate_s(p)}
            made += algorithm(CANNON, p, parts, n=size, variant="plain")
        return with_summaries(context, made)

    return change


def two_products(
    striped: dict[str, float], other: dict[str, float], messages: tuple[int, int] = (24, 96)
) -> Change:
    def change(context: Context) -> Context:
        made = []
        for name, parts, count in ((STRIPED, striped, messages[0]), (CANNON, other, messages[1])):
            moved = Work(bytes=1e8, flops=1e9, messages=count)
            case = algorithm(name, 16, parts, seed=count, n=840, variant="plain")
            made += [one.model_copy(update={"work": moved}) for one in case]
        return with_summaries(context, made)

    return change


def sorting(imbalance: float, ranks: int = 8) -> Change:
    def change(context: Context) -> Context:
        given = {"n": 1 << 20, "variant": "plain", "input": "skewed"}
        made = algorithm("algorithm.sort_psrs", ranks, {"compute": 0.1, "idle": 0.05}, **given)
        share = noisy(np.random.default_rng(3), imbalance, spread=0.002)
        one = summary(share, "algorithm.sort_psrs", "partition_imbalance", "observed", ranks, unit="1", **given)
        return with_summaries(context, [*made, one])

    return change


def operation(cold: float, benchmark: str = "operation.scatter", ranks: int = 4) -> Change:
    """An operation that takes 1 ms into used buffers."""

    def change(context: Context) -> Context:
        random = np.random.default_rng(4)
        times = {"warm": 1e-3, "cold": cold}
        made = [
            summary(noisy(random, t), benchmark, "time_s", "global", ranks, n=840, buffers=buffers, layout="rows")
            for buffers, t in times.items()
        ]
        return with_summaries(context, made)

    return change


def retained(share: float, warm: float | None = None) -> Change:
    """A scatter to four whose messages alone take `share` of its time; the ping-pong is 1 µs and 10 GB/s.

    `warm`: into used buffers it takes so much of that time; by default that was not measured.
    """

    def change(context: Context) -> Context:
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
        return with_summaries(context, [*pings, *made])

    return change


def one_process(rate: Callable[[int], float]) -> Change:
    """Products on one process at so many seconds for each multiplication."""

    def change(context: Context) -> Context:
        sizes = (120, 240, 480, 720, 960)
        made = [algorithm(CANNON, 1, {"compute": rate(n) * n**3}, n=n, variant="plain") for n in sizes]
        return with_summaries(context, [one for case in made for one in case])

    return change


def speedup(sixteen_s: float) -> Change:
    """A second on one process, so much on sixteen."""

    def change(context: Context) -> Context:
        one = algorithm(CANNON, 1, {"compute": 1.0}, n=1680, variant="plain")
        many = algorithm(CANNON, 16, {"compute": sixteen_s}, seed=2, n=1680, variant="plain")
        return with_summaries(context, one + many)

    return change


def iterating(late: int | None, waits: float = 0.2, iterations: int = 100) -> Change:
    """A relaxation on four ranks, of which one may be last to 97 % of the exchanges while the others wait."""

    def change(context: Context) -> Context:
        (template, *_) = (
            one for one in context.samples.cases if (one.case.benchmark, one.case.ranks) == (CANNON, 4)
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
                    context.catalog,
                    "algorithm.relaxation",
                    {"n": 720, "iterations": iterations},
                    template.case.batch,
                ),
                times=[replace(times, observed=observed)],
            )

        return with_samples(context, cases=[launch() for _ in range(6)])

    return change


def latency_of_a_cache(n: int) -> float:
    return 1e-9 if 24 * n**2 < 16 << 20 else 1.8e-9


def stripes(slow: float, by_speed_s: float | None) -> Change:
    """Four processes on two hosts, the second `slow` times as slow, each with a quarter of the rows."""

    def change(context: Context) -> Context:
        given = {"n": 1080, "variant": "plain", "grid_rows": 4}
        made = algorithm(STRIPED, 4, {"compute": 0.1 * slow, "exchange": 0.02}, **given, dealing="even")
        if by_speed_s is not None:
            made += algorithm(STRIPED, 4, {"compute": by_speed_s, "exchange": 0.02}, **given, dealing="by_speed")
        context = with_summaries(context, made)
        launch = context.samples.launches[0]
        processes = [
            launch.processes[0].model_copy(update={"rank": rank, "host": f"node{1 + rank // 2}"})
            for rank in range(4)
        ]
        placed = launch.model_copy(update={"ranks": 4, "placement": Placement(), "processes": processes})
        computed = [0.1, 0.1, 0.1 * slow, 0.1 * slow]
        phases = PhasesByRank(
            subject=made[0].case, origin="measured", ranks_kept=[0, 1, 2, 3], phases_s={"compute_s": computed}
        )
        found = dealings([phases], context.measurements, [placed])
        return replace(context, models=context.models.model_copy(update={"dealings": found}))

    return change


KINDS: dict[str, tuple[str, list[Change], list[Change]]] = {
    "communication_outweighs": (
        "communication-outweighs",
        [cannon(lambda p: 0.01 * p), cannon(lambda p: 0.3)],
        [cannon(lambda p: 0.001 * p), cannon(lambda p: 0.0), cannon(lambda p: 0.3 if p == 4 else 0.01)],
    ),
    "striped_or_cannon": (
        "striped-or-cannon",
        [
            two_products({"compute": 0.1, "exchange": 0.02}, {"compute": 0.1, "exchange": 0.05}),
            two_products({"compute": 0.15, "exchange": 0.02}, {"compute": 0.1, "exchange": 0.02}),
        ],
        [two_products({"compute": 0.1, "exchange": 0.02}, {"compute": 0.1, "exchange": 0.021})],
    ),
    "rows_by_speed": (
        "rows-by-speed",
        [stripes(3, None), stripes(3, 0.15), stripes(1.5, 0.12)],
        [stripes(1, None), stripes(1.1, None), stripes(3, 0.29), stripes(3, 0.5)],
    ),
    "partition_imbalance": ("partition-imbalance", [sorting(3.1), sorting(1.5)], [sorting(1.02), sorting(8.0, 1)]),
    "first_touch": ("first-touch-dominates", [operation(2.6e-3)], [operation(1.5e-3), operation(1e-3)]),
    "cache_knee": ("cache-knee", [one_process(latency_of_a_cache)], [one_process(lambda n: 1e-9)]),
    "superlinear": ("super-linear", [speedup(1 / 20)], [speedup(1 / 16), speedup(1 / 12)]),
    "late_rank": (
        "late-rank",
        [iterating(2)],
        [iterating(None), iterating(2, waits=0.01), iterating(2, iterations=1)],
    ),
    "operation_below_ping_pong": ("operation-below-ping-pong", [retained(0.2)], [retained(0.4), retained(0.9)]),
}


def cases(which: int) -> list[object]:
    return [
        pytest.param(kind, entry[0], change, id=f"{kind}-{number}")
        for kind, entry in KINDS.items()
        for number, change in enumerate(entry[which])
    ]


@pytest.mark.parametrize(("kind", "code", "change"), cases(1))
def test_it_fires_where_it_must(kind: str, code: str, change: Change, golden_context: Context) -> None:
    found = [one for one in run_kinds()[kind](change(golden_context)) if one.code == code]
    assert found
    for finding in found:
        assert "  " not in finding.title
        assert finding.evidence
        assert finding.advice.endswith(".")
        assert finding.where


@pytest.mark.parametrize(("kind", "code", "change"), cases(2))
def test_it_stays_silent_where_it_must(kind: str, code: str, change: Change, golden_context: Context) -> None:
    assert [f.title for f in run_kinds()[kind](change(golden_context)) if f.code == code] == []


def test_the_count_from_which_communication_outweighs_is_named(golden_context: Context) -> None:
    (found,) = run_kinds()["communication_outweighs"](cannon(lambda p: 0.02 * p)(golden_context))
    assert found.where["ranks"] == 9, "0.18 s against 0.11 s; on 4 it is 0.08 s against 0.25 s"
    assert "From 9 processes on" in found.title
    assert any(evidence.what == "most cost-effective number of processes" for evidence in found.evidence)


def test_rows_go_to_hosts_in_the_ratio_of_their_speeds(golden_context: Context) -> None:
    context = stripes(3, 0.16)(golden_context)
    (one,) = context.models.dealings
    assert [(share.host, share.even) for share in one.shares] == [("node1", 0.5), ("node2", 0.5)]
    assert [share.by_speed for share in one.shares] == pytest.approx([0.75, 0.25])
    assert one.balanced_compute_s == pytest.approx(0.15)
    assert one.predicted_s == pytest.approx(0.17, rel=0.02)
    assert one.error == pytest.approx(0.17 / 0.18 - 1, abs=0.03)
    (found,) = run_kinds()["rows_by_speed"](context)
    assert found.where["host"] == "node2"
    assert "node1 75 %, node2 25 %" in found.advice
    assert found.title.startswith("With rows dealt by the speed of the hosts, ")
    assert found.lost == pytest.approx(1 - 0.18 / 0.32, rel=0.03)


def test_hosts_of_a_lab_that_share_processors_have_no_speed_of_their_own(golden_context: Context) -> None:
    context = stripes(3, 0.15)(golden_context)
    (one,) = context.models.dealings
    emulated = one.model_copy(update={"origin": "emulated"})

    def with_processors(count: int) -> Context:
        hosts = [
            host.model_copy(update={"processor": host.processor.model_copy(update={"usable": list(range(count))})})
            for host in context.machine.hosts
        ]
        return replace(
            context,
            machine=context.machine.model_copy(update={"hosts": hosts}),
            models=context.models.model_copy(update={"dealings": [emulated]}),
        )

    assert run_kinds()["rows_by_speed"](with_processors(2)) == []
    assert len(run_kinds()["rows_by_speed"](with_processors(4))) == 1


def test_rows_that_were_dealt_by_speed_in_vain_are_not_advised(golden_context: Context) -> None:
    context = stripes(3, 0.4)(golden_context)
    (one,) = context.models.dealings
    assert one.measured_s is not None
    slower = one.model_copy(update={"measured_s": one.measured_s.model_copy(update={"low": None, "high": None})})
    without = replace(context, models=context.models.model_copy(update={"dealings": [slower]}))
    assert run_kinds()["rows_by_speed"](without) == [], "predicted to gain, measured to lose, with no interval"


def test_small_problems_are_information_only(golden_context: Context) -> None:
    small = cannon(lambda p: 0.3, size=60)(golden_context).summaries
    large = cannon(lambda p: 0.001, size=512)(golden_context).summaries
    (found,) = run_kinds()["communication_outweighs"](with_summaries(golden_context, [*small, *large]))
    assert (found.where["size"], found.severity) == (60, "information")
    (found,) = run_kinds()["communication_outweighs"](with_summaries(golden_context, small))
    assert found.severity == "advice"


def test_why_a_product_is_slower_is_told_by_its_phases(golden_context: Context) -> None:
    by_messages = two_products({"compute": 0.1, "exchange": 0.02}, {"compute": 0.1, "exchange": 0.05})
    (found,) = run_kinds()["striped_or_cannon"](by_messages(golden_context))
    assert found.where["benchmark"] == STRIPED
    assert "the slower one exchanges" in found.title
    assert "it sends 96 messages" in found.title
    assert "the faster one 24" in found.title
    by_work = two_products({"compute": 0.15, "exchange": 0.02}, {"compute": 0.1, "exchange": 0.02})
    (found,) = run_kinds()["striped_or_cannon"](by_work(golden_context))
    assert found.where["benchmark"] == CANNON
    assert "the slower one computes" in found.title
    assert "messages" not in found.title


def test_a_knee_names_the_cache_that_it_passes(golden_context: Context) -> None:
    (found,) = run_kinds()["cache_knee"](one_process(latency_of_a_cache)(golden_context))
    assert found.where["size"] == 960
    assert "past the level 3 cache of 16 MiB" in found.title


def test_a_superlinear_speedup_is_laid_to_the_caches(golden_context: Context) -> None:
    (found,) = run_kinds()["superlinear"](speedup(1 / 20)(golden_context))
    assert "all processes together compute for only 80 % of the time of one process" in found.title
    assert "each on 4.04 MiB instead of 64.6 MiB, which fit into the level 3 cache" in found.title
    assert "on 16 processes" in found.title
    assert "caches" in found.advice


def test_a_superlinear_speedup_without_less_computation_is_not(golden_context: Context) -> None:
    one = algorithm(CANNON, 1, {"compute": 1.0, "collect": 0.5}, n=1680, variant="plain")
    many = algorithm(CANNON, 16, {"compute": 1 / 16}, n=1680, variant="plain")
    (found,) = run_kinds()["superlinear"](with_summaries(golden_context, one + many))
    assert "one process loses the time elsewhere" in found.title
    assert "caches" not in found.advice


def test_the_late_rank_and_its_host_are_named(golden_context: Context) -> None:
    (found,) = run_kinds()["late_rank"](iterating(2)(golden_context))
    assert (found.where["rank"], found.where["host"]) == (2, "node1")
    assert "97 % of the exchanges" in found.title
    assert found.lost == pytest.approx(0.2, rel=0.1)


@pytest.mark.parametrize(
    ("warm", "part"),
    [
        (0.3, "first touch of fresh buffers"),
        (0.9, "contention, copies, the library's algorithm"),
        (None, "causes that cases with used buffers, not measured here, would separate"),
    ],
)
def test_a_part_is_blamed_only_where_it_was_told_apart(
    warm: float | None, part: str, golden_context: Context
) -> None:
    found = run_kinds()["operation_below_ping_pong"](retained(0.2, warm)(golden_context))
    (one,) = (each for each in found if each.where.get("benchmark") == "operation.scatter")
    assert one.title.endswith(f"most is lost to {part}")


def test_the_largest_part_of_a_slow_operation_is_named(golden_context: Context) -> None:
    found = run_kinds()["operation_below_ping_pong"](retained(0.2)(golden_context))
    (one,) = (each for each in found if each.where.get("benchmark") == "operation.scatter")
    assert one.severity == "warning"
    assert "20 %" in one.title
