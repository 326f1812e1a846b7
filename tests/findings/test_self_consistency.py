from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2

import numpy as np
import pytest

from hpcscope.findings.run.collectives.guideline import GuidelineCalls
from hpcscope.findings.run.collectives.self_consistency import Violation, violations
from hpcscope.statistics.summary import Summary
from tests.declared import catalog
from tests.draws import draws
from tests.findings.faulty_runs import exchanges, latencies
from tests.models.curves import noisy, summary


def violated(summaries: list[Summary], uncertainty_s: float = 0.0) -> list[Violation]:
    return violations(GuidelineCalls(summaries, catalog()), uncertainty_s)


def line(n: int) -> float:
    return 1e-6 + n / 8e9


def library(seed: int, **slower: float) -> list[Summary]:
    """A library whose calls are 3 % faster than their composition, but for those that are slower by a factor."""
    random = np.random.default_rng(seed)

    def factor(name: str) -> float:
        return slower.get(name, 0.97)

    made = latencies(line, seed, 0.01)
    made += exchanges(lambda n: factor("sendrecv") * 2 * line(n), seed + 1)
    made += latencies(lambda n: line(n) / factor("standard"), seed + 2, 0.01, mode="synchronous")
    for p in (2, 4, 8):
        bound = 2 * ceil(log2(p)) * line(0)
        made.append(summary(noisy(random, factor("barrier") * bound), "mpi.barrier", "time_s", "global", ranks=p))
        for n in (64, 4096, 65536):
            time_s = factor("broadcast") * (p - 1) * line(n)
            made.append(
                summary(noisy(random, time_s), "mpi.broadcast", "time_s", "global", ranks=p, message_bytes=n)
            )
    return made


@pytest.mark.parametrize("guideline", ["sendrecv", "broadcast", "barrier"])
def test_a_slower_call_is_found_and_only_that(guideline: str) -> None:
    found = {violation.guideline.name for violation in violated(library(1, **{guideline: 1.3}))}
    # A slower MPI_Sendrecv makes the barrier's bound larger, not smaller.
    assert found == {guideline}


def test_a_slower_standard_send_is_found() -> None:
    assert "standard send" in {v.guideline.name for v in violated(library(1, standard=1.3))}


def test_a_kink_breaks_monotony() -> None:
    def kinked(n: int) -> float:
        return 5 * line(n) if n == 1024 else line(n)

    (violation,) = violated(latencies(kinked))
    assert violation.guideline.name == "monotony"
    assert violation.left.parameters["message_bytes"] == 1024
    assert violation.excess == pytest.approx(kinked(1024) / line(4096) - 1, rel=0.1)


@pytest.mark.simulation
@draws(15, 60)
def test_a_consistent_library_raises_no_alarm(draws: int) -> None:
    alarms = sum(bool(violated(library(100 + 10 * seed))) for seed in range(draws))
    assert alarms == 0


@pytest.mark.simulation
@draws(20, 60)
def test_equal_costs_raise_few_alarms(draws: int) -> None:
    """At the border of every guideline noise alone decides: at most 5 % of the libraries are accused."""
    equal: Callable[[int], list[Summary]] = lambda seed: library(  # noqa: E731
        seed, sendrecv=1.0, broadcast=1.0, barrier=1.0, standard=1.0
    )
    alarms = sum(bool(violated(equal(1000 + 10 * seed))) for seed in range(draws))
    assert alarms <= draws // 20


def in_uneven_launches(random: np.random.Generator, slower: float) -> list[Summary]:
    """Standard and synchronous sends of six sizes, in launches that are slower or faster throughout by 30 %."""
    factors = np.exp(random.normal(0, 0.3, 6))
    return [
        summary(
            [f * one for f, one in zip(factors, noisy(random, time_s, spread=0.01), strict=True)],
            message_bytes=n,
            mode=mode,
            completion="blocking",
            numbers=range(1, 7),
        )
        for n in (0, 8, 64, 512, 4096, 32768)
        for mode, time_s in (("standard", line(n) * slower), ("synchronous", line(n)))
    ]


def test_what_launches_share_hides_no_violation_and_makes_none() -> None:
    random = np.random.default_rng(17)
    found = [{v.guideline.name for v in violated(in_uneven_launches(random, 1.1))} for _ in range(20)]
    assert sum("standard send" in names for names in found) >= 19
    assert sum(bool(violated(in_uneven_launches(random, 1.0))) for _ in range(40)) <= 2


def test_three_launches_are_too_few_to_tell() -> None:
    random = np.random.default_rng(1)
    pair = [
        summary(noisy(random, time_s, launches=3), message_bytes=64, mode=mode, completion="blocking")
        for mode, time_s in (("standard", 9e-6), ("synchronous", 1e-6))
    ]
    assert violated(pair) == []


def test_the_clock_s_uncertainty_counts_for_the_library() -> None:
    made = library(1, barrier=1.3)
    assert violated(made, uncertainty_s=10e-6) == []


COSTS: dict[str, Callable[[int, int], float]] = {
    "broadcast": lambda n, p: log2(p) * line(n),
    "reduce": lambda n, p: 1.1 * log2(p) * line(n),
    "scan": lambda n, p: 1.3 * log2(p) * line(n),
    "exscan": lambda n, p: 1.35 * log2(p) * line(n),
    "reduce_local": lambda n, p: 0.1 * line(n),
    "allreduce": lambda n, p: 1.5 * log2(p) * line(n),
    "scatter": lambda m, p: log2(p) * line(m) + 0.3 * p * (line(m) - line(0)),
    "gather": lambda m, p: log2(p) * line(m) + 0.3 * p * (line(m) - line(0)),
    "allgather": lambda m, p: 1.2 * log2(p) * line(m) + 0.9 * p * (line(m) - line(0)),
    "alltoall": lambda m, p: 1.3 * log2(p) * line(m) + p * (line(m) - line(0)),
    "reduce_scatter_block": lambda m, p: log2(p) * line(p * m),
    "gatherv": lambda m, p: 1.05 * (log2(p) * line(m) + 0.3 * p * (line(m) - line(0))),
}


def collectives(seed: int, call: str = "blocking", **slower: float) -> list[Summary]:
    """A library in which every collective is cheaper than its composition, but for those slower by a factor."""
    random = np.random.default_rng(seed)
    made = []
    for p in (4, 8):
        for name, cost in COSTS.items():
            for n in (64, 512, 4096, 32768, 262144):
                times = noisy(random, slower.get(name, 1.0) * cost(n, p))
                parameters = {"message_bytes": n, "call": call}
                made.append(summary(times, f"mpi.{name}", "time_s", "global", ranks=p, **parameters))
        barrier = slower.get("barrier", 1.0) * log2(p) * line(0)
        made.append(summary(noisy(random, barrier), "mpi.barrier", "time_s", "global", ranks=p, call=call))
    return made


@pytest.mark.parametrize(
    ("name", "guideline"),
    [
        ("allreduce", "allreduce"),
        ("reduce", "reduce"),
        ("reduce", "reduce by scan"),
        ("allgather", "allgather"),
        ("gather", "gather"),
        ("gather", "equal blocks"),
        ("scatter", "scatter"),
        ("allgather", "allgather by all-to-all"),
        ("reduce_scatter_block", "reduce-scatter"),
        ("barrier", "barrier by allreduce"),
        ("scan", "scan"),
    ],
)
def test_a_collective_slower_than_its_composition_is_found(name: str, guideline: str) -> None:
    found = [v for v in violated(collectives(7, **{name: 20.0})) if v.guideline.name == guideline]
    assert found
    assert {violation.left.benchmark for violation in found} == {f"mpi.{name}"}


@pytest.mark.parametrize(("factor", "found"), [(0.9, False), (1.3, False), (1.8, True)])
def test_a_scan_is_held_against_rounds_of_exchanges_and_reductions(factor: float, found: bool) -> None:
    """Parts that were measured alone take longer one after another: 30 % more is not reported."""
    random = np.random.default_rng(4)
    made = exchanges(lambda n: 2 * line(n), 5)
    for n in (64, 4096, 65536):
        for name, definition, time_s in (
            ("scan", "global", factor * 3 * (2 * line(n) + 0.1 * line(n))),
            ("reduce_local", "max_rank", 0.1 * line(n)),
        ):
            times = noisy(random, time_s)
            made.append(summary(times, f"mpi.{name}", "time_s", definition, ranks=8, message_bytes=n))
    names = {violation.guideline.name for violation in violated(made)}
    assert names == ({"scan by rounds"} if found else set())


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("slow", "guideline"), [(("blocking", 1.3), "blocking"), (("persistent", 1.3), "persistent")]
)
def test_a_slower_way_of_calling_is_found(slow: tuple[str, float], guideline: str) -> None:
    factors = dict.fromkeys(COSTS, slow[1])
    made = collectives(8, "nonblocking") + collectives(9, slow[0], **factors)
    assert guideline in {violation.guideline.name for violation in violated(made)}
    healthy = collectives(8, "nonblocking", **dict.fromkeys(COSTS, 1.03)) + collectives(9, slow[0])
    assert guideline not in {violation.guideline.name for violation in violated(healthy)}


@pytest.mark.simulation
@draws(6, 20)
def test_consistent_collectives_raise_no_alarm(draws: int) -> None:
    assert sum(bool(violated(collectives(500 + seed))) for seed in range(draws)) == 0


def test_other_operators_roots_blocks_and_transports_are_not_mixed() -> None:
    random = np.random.default_rng(3)

    def one(name: str, time_s: float, **parameters: str | int) -> Summary:
        transport = str(parameters.pop("transport", "default"))
        given = {"message_bytes": 64, **parameters}
        return summary(noisy(random, time_s), f"mpi.{name}", "time_s", "global", 4, transport, **given)

    plain = one("reduce", 9e-6, operator="sum", root=0, call="blocking")
    for other in (
        one("allreduce", 1e-6, operator="lor", call="blocking"),
        one("allreduce", 1e-6, operator="sum", call="nonblocking"),
        one("allreduce", 1e-6, operator="sum", call="blocking", transport="tcp"),
    ):
        assert violated([plain, other]) == []
    assert violated([plain, one("allreduce", 1e-6, operator="sum", call="blocking")])
