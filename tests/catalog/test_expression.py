"""The expressions in declared costs."""

from __future__ import annotations

import re

import pytest

from hpcscope.catalog.expression import evaluate
from tests.declared import catalog

NAMES = {"n": 12, "p": 9}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8),
        ("1.5e3", 1500),
        ("n", 12),
        (" n ", 12),
        ("8*n^2", 1152),
        ("8*n**2", 1152),
        ("2^3^2", 512),
        ("-n^2", -144),
        ("+n - -p", 21),
        ("n^3/p", 192),
        ("(n - p)*(p - 1)", 24),
        ("ceil(log2(p))", 4),
        ("floor(log2(p))", 3),
        ("2*(sqrt(p) - 1)", 4),
        ("max(n, p) - min(n, p, 4)", 8),
        ("n/8", 1.5),
    ],
)
def test_values(text: str, value: float) -> None:
    assert evaluate(text, NAMES) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n +",
        "n n",
        "m",
        "n; p",
        "n = 2",
        "n // 5",
        "n % 5",
        "n << 5",
        "n < p",
        "n and p",
        "n if p else 1",
        "True",
        "'n'",
        "'n' * 1000",
        "[n]",
        "{n}",
        "n.real",
        "n[0]",
        "lambda: n",
        "[n for n in (1, 2)]",
        "(n := 2)",
        "abs(n)",
        "sqrt",
        "sqrt()",
        "sqrt(n, p)",
        "min(*n)",
        "max(n, key=p)",
        "eval('1')",
        "open('/etc/passwd')",
        "__import__('os')",
        "n.__class__",
        "(1).__class__.__bases__",
        "sqrt.__globals__",
    ],
)
def test_all_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        evaluate(text, NAMES)


@pytest.mark.parametrize(
    "text", ["n/0", "sqrt(-1)", "log2(0)", "(-n)^0.5", "1e999", "9^9^9", "ceil(p)^floor(p)^ceil(p)"]
)
def test_a_value_that_is_not_a_finite_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        evaluate(text, NAMES)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"\bm\b.*: n, p"):
        evaluate("8*m", NAMES)


def test_all_declared_costs_have_values() -> None:
    steps = [(one, step) for one in catalog() for step in one.costs]
    assert steps
    for one, step in steps:
        names = {name: value for name, value in catalog().defaults(one.name).items() if not isinstance(value, str)}
        counts = {metric.name: 1.0 for metric in one.metrics if metric.role == "count"}
        for text in (step.count, step.bytes, step.ranks):
            assert evaluate(text, {**counts, **names, "p": 4}) >= 0, f"{one.name}: {text}"
