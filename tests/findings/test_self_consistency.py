from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2

import numpy as np
import pytest

from scope.findings.self_consistency import violations
from scope.statistics.summary import Summary
from tests.findings.contexts import latencies
from tests.models.curves import noisy, summary


def line(n: int) -> float:
    return 1e-6 + n / 8e9


def library(seed: int, **slower: float) -> list[Summary]:
    """A library whose calls are 3 % faster than their composition, but for those that are slower by a factor."""
    random = np.random.default_rng(seed)

    def factor(name: str) -> float:
        return slower.get(name, 0.97)

    made = latencies(line, seed, 0.01)
    made += latencies(lambda n: factor("sendrecv") * line(n), seed + 1, 0.01, mode="sendrecv")
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
    found = {violation.guideline.name for violation in violations(library(1, **{guideline: 1.3}))}
    # A slower MPI_Sendrecv makes the barrier's bound larger, not smaller.
    assert found == {guideline}


def test_a_slower_standard_send_is_found() -> None:
    assert "standard send" in {v.guideline.name for v in violations(library(1, standard=1.3))}


def test_a_kink_breaks_monotony() -> None:
    def kinked(n: int) -> float:
        return 5 * line(n) if n == 1024 else line(n)

    (violation,) = violations(latencies(kinked))
    assert violation.guideline.name == "monotony"
    assert violation.left.parameters["message_bytes"] == 1024
    assert violation.excess == pytest.approx(kinked(1024) / line(4096) - 1, rel=0.1)


def test_a_consistent_library_raises_no_alarm() -> None:
    alarms = sum(bool(violations(library(100 + 10 * seed))) for seed in range(60))
    assert alarms == 0


def test_equal_costs_raise_few_alarms() -> None:
    """At the border of every guideline noise alone decides: at most 5 % of the libraries are accused."""
    equal: Callable[[int], list[Summary]] = lambda seed: library(  # noqa: E731
        seed, sendrecv=1.0, broadcast=1.0, barrier=1.0, standard=1.0
    )
    alarms = sum(bool(violations(equal(1000 + 10 * seed))) for seed in range(60))
    assert alarms <= 3


def test_three_launches_are_too_few_to_tell() -> None:
    random = np.random.default_rng(1)
    pair = [
        summary(noisy(random, time_s, launches=3), message_bytes=64, mode=mode, completion="blocking")
        for mode, time_s in (("standard", 1e-6), ("sendrecv", 9e-6))
    ]
    assert violations(pair) == []


def test_the_clock_s_uncertainty_counts_for_the_library() -> None:
    made = library(1, barrier=1.3)
    assert violations(made, uncertainty_s=10e-6) == []
