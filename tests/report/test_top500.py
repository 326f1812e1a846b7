"""The data sheet: figures from known truth, and nothing claimed that is not known."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from hpcscope.machine.machine import Machine
from hpcscope.models.computation.linpack_rates import BENCHMARK, PRODUCT, linpack_rates, theoretical
from hpcscope.report.terminal import top500
from hpcscope.statistics.summary import Summary
from tests import golden_run as golden
from tests.messages import mentions
from tests.models.curves import measured, noisy, summary

R_INF, HALF_AT = 100e9, 500
"""The truth: a rate of R_INF n / (n + HALF_AT)."""
SETTINGS = {"grid_rows": 2, "grid_columns": 2, "broadcast": "ring", "swap": "long", "look_ahead": 1}


def machine(**processor: Any) -> Machine:
    facts = golden.machine()
    for host in facts["hosts"]:
        host["processor"].update(processor)
    return Machine.model_validate(facts)


def solved(n: int, block: int = 128, slower: float = 1.0, ranks: int = 4, spread: float = 0.001) -> list[Summary]:
    random = np.random.default_rng(n + block)
    rate = R_INF * n / (n + HALF_AT) / slower
    given = {"n": n, "block": block, **SETTINGS}
    rates = noisy(random, rate, spread=spread)
    residual = [np.full(3, 0.002)] * 6
    return [
        summary([1 / each for each in rates], BENCHMARK, "time_s", "max_rank", ranks=ranks, **given),
        summary(rates, BENCHMARK, "flops_per_s", "max_rank", ranks=ranks, unit="flop/s", **given),
        summary(residual, BENCHMARK, "residual", "observed", ranks=ranks, unit="1", **given),
    ]


def product(ranks: int = 4) -> Summary:
    rates = noisy(np.random.default_rng(9), 120e9, spread=0.001)
    given = {"precision": "double", "n": 1000}
    return summary(rates, PRODUCT, "flops_per_s", "max_rank", ranks=ranks, unit="flop/s", **given)


def run(sizes: list[int]) -> list[Summary]:
    made = [product()]
    for n in sizes:
        made += solved(n) + solved(n, block=64, slower=1.1)
    return made + solved(9000, ranks=1)


def test_r_max_n_max_and_n_half_are_found() -> None:
    sizes = [100, 200, 400, 800, 1600, 3200, 6400]
    rates = linpack_rates(measured(run(sizes)))
    assert rates is not None
    assert rates.rate.value == pytest.approx(R_INF * 6400 / 6900, rel=0.01)
    assert rates.n_max == 6400
    assert rates.case.parameters["block"] == 128
    # Half of the largest rate that was run, not of the limit: x / (x + 500) = 1/2 * 6400 / 6900.
    truth = 500 / (2 * 6900 / 6400 - 1)
    assert rates.n_half is not None
    assert rates.n_half.value == pytest.approx(truth, rel=0.05), "sizes that double bound it to a few percent"
    assert rates.n_half.low is not None
    assert rates.n_half.high is not None
    assert rates.n_half.low <= rates.n_half.value <= rates.n_half.high
    assert rates.efficiency is not None
    assert rates.efficiency.value == pytest.approx(R_INF * 6400 / 6900 / 120e9, rel=0.02)


def test_half_of_r_max_that_was_not_measured_is_unknown() -> None:
    rates = linpack_rates(measured(run([3200, 6400])))
    assert rates is not None
    assert rates.n_half is None
    assert "at n=3200" in rates.n_half_reason
    sheet = "\n".join(top500.lines(rates, machine()))
    assert re.search(r"unknown.*n=3200", sheet)


def test_nothing_without_a_valid_linpack() -> None:
    assert linpack_rates(measured([product()])) is None
    assert linpack_rates(measured([one.model_copy(update={"valid": False}) for one in solved(1000)])) is None


def test_the_theory_is_cores_times_clock_times_vectors() -> None:
    peak, how = theoretical(
        machine(base_frequency_hz=2.5e9, flags=["avx", "avx2", "fma", "sse2"], cores=16, threads=16)
    )
    assert peak == 16 * 2.5e9 * 16
    assert "16 operations" in how
    two_threads = machine(base_frequency_hz=2e9, flags=["avx", "sse2"], cores=8, threads=16)
    assert theoretical(two_threads)[0] == 8 * 2e9 * 8, "two threads of a core have one unit"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"base_frequency_hz": None}, "the clock of node1"),
        ({"base_frequency_hz": 2e9, "flags": [], "architecture": "riscv64"}, "the vectors of riscv64"),
    ],
)
def test_what_is_not_known_is_said_to_be_unknown(facts: dict[str, Any], words: str) -> None:
    rates = linpack_rates(measured(run([100, 6400]), machine=machine(**facts)))
    assert rates is not None
    sheet = list(top500.lines(rates, machine(**facts)))
    (line,) = [line for line in sheet if line.startswith("  R_peak, theoretical")]
    assert "unknown" in line
    assert words in line
    assert not any("R_max / R_peak, theoretical" in line for line in sheet)


def test_without_products_the_sheet_says_what_to_run() -> None:
    rates = linpack_rates(measured([*solved(100), *solved(1000)]))
    assert rates is not None
    assert any(mentions(line, "node.matrix_multiply ... 4") for line in top500.lines(rates, machine()))


def test_few_launches_give_n_half_no_interval() -> None:
    few = {"launch_medians": [1.0]}
    made = [one.model_copy(update=few) for one in run([100, 200, 400, 800, 1600, 3200, 6400])]
    rates = linpack_rates(measured(made))
    assert rates is not None
    assert rates.n_half is not None
    assert rates.n_half.value == pytest.approx(500 / (2 * 6900 / 6400 - 1), rel=0.05)
    assert rates.n_half.low is None
