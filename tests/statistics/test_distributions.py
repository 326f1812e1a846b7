"""What is computed without SciPy, beside SciPy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy  # its modules load when they are first asked for

from hpcscope.statistics import distributions, false_discoveries
from tests.patience import PATIENCE_S

PROBABILITIES = (1e-12, 1e-4, 0.025, 0.3, 0.5, 0.975, 0.9999)


@pytest.mark.parametrize("p", PROBABILITIES)
def test_quantiles_and_tails_are_those_of_scipy_stats(p: float) -> None:
    x = distributions.normal_quantile(p)
    assert x == pytest.approx(float(scipy.stats.norm.ppf(p)), abs=1e-14)
    assert distributions.normal_cdf(x) == pytest.approx(p, rel=1e-9)
    for freedom in (1, 2.5, 7, 1000):
        x = distributions.student_quantile(p, freedom)
        assert x == pytest.approx(float(scipy.stats.t.ppf(p, freedom)), rel=1e-9, abs=1e-14)
        assert distributions.student_cdf(x, freedom) == pytest.approx(p, rel=1e-6)


def test_extreme_probabilities_and_degrees_of_freedom() -> None:
    for freedom in (0.5, 1, 30, 1e5, 1e9, np.inf):
        for p in (1e-12, 1e-6, 0.4999, 1 - 1e-9):
            expected = float(scipy.special.stdtrit(freedom, p))
            assert distributions.student_quantile(p, freedom) == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert np.isnan(distributions.student_quantile(0.9, 0))


@pytest.mark.parametrize("n", [1, 2, 6, 100, 5001])
@pytest.mark.parametrize("p", [0.01, 0.5])
def test_binomial_quantiles_are_the_smallest_that_reach_a_probability(n: int, p: float) -> None:
    edges = [float(edge) for edge in scipy.stats.binom.cdf(range(min(n, 60)), n, p)]
    for q in (*PROBABILITIES, *(edge for edge in edges if 1e-300 < edge < 1)):
        k = distributions.binomial_quantile(q, n, p)
        assert distributions.binomial_cdf(k, n, p) >= q
        assert distributions.binomial_cdf(k - 1, n, p) < q
    for k in range(-1, n + 1, max(n // 10, 1)):
        assert distributions.binomial_cdf(k, n, p) == pytest.approx(
            float(scipy.stats.binom.cdf(k, n, p)), rel=1e-9
        )


def test_equal_values_share_their_ranks() -> None:
    values = np.random.default_rng(1).integers(0, 20, 100).astype(np.float64)
    assert distributions.mid_ranks(values).tolist() == scipy.stats.rankdata(values).tolist()
    assert distributions.mid_ranks(np.array([])).size == 0


def test_false_discoveries_are_controlled_as_by_scipy_stats() -> None:
    rng = np.random.default_rng(2)
    for count in (1, 2, 50):
        p = rng.random(count) ** 3
        p[: count // 2] = p[0]  # equal ones
        assert false_discoveries.adjusted(p.tolist()) == pytest.approx(scipy.stats.false_discovery_control(p))
    assert false_discoveries.adjusted([]).size == 0


@pytest.mark.parametrize("command", ["show", "report", "analyze", "compare", "run", "topology"])
def test_no_command_waits_for_what_it_may_not_need(command: str) -> None:
    code = f"import sys; from hpcscope.cli import parser; parser({command!r}); import hpcscope.engine.analysis"
    slow = "{'scipy.special', 'scipy.stats', 'scipy.cluster', 'scipy.optimize'}"
    loaded = f"{code}; print(*{slow}.intersection(sys.modules))"
    answer = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert answer.stdout.strip() == ""
