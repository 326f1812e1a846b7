"""HPL's result lines: columns where HPL has them, the verdict by its threshold."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from hpcscope.report.terminal import hpl
from hpcscope.statistics.summary import Summary
from tests.models.curves import summary

# What HPL 2.3 itself printed for n = 4000 in blocks of 128 on one process.
PRINTED = "WR11R2R8        4000   128     1     1               3.31             1.2911e+01"


def solved(time_s: float, residual: float, ranks: int = 1, **given: Any) -> list[Summary]:
    asked = {
        "n": 4000,
        "block": 128,
        "grid_rows": 0,
        "grid_columns": 0,
        "broadcast": "ring_modified",
        "look_ahead": 1,
    }
    values = {"time_s": (time_s, "s"), "residual": (residual, "1")}
    return [
        summary(
            [np.full(5, value)] * 6,
            hpl.BENCHMARK,
            metric,
            "max_rank",
            ranks=ranks,
            unit=unit,
            **{**asked, **given},
        )
        for metric, (value, unit) in values.items()
    ]


def test_a_line_is_as_hpl_writes_it() -> None:
    head, rule, line, residual = hpl.lines(solved(3.30655, 2.93764417e-03))
    assert line == PRINTED
    assert len(head) == len(line)
    assert rule == "-" * 80
    assert residual == "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.93764417e-03 ...... PASSED"


def test_grid_look_ahead_and_broadcast_are_told() -> None:
    cases = [
        solved(1.0, 0.1, ranks=6),
        solved(1.0, 0.1, ranks=6, grid_columns=1, broadcast="long", look_ahead=0),
        solved(1.0, 0.1, ranks=6, grid_rows=1, broadcast="ring"),
    ]
    lines = list(hpl.lines([one for case in cases for one in case]))[2::2]
    found = [re.split(r" +", line)[:5] for line in lines]
    assert [words[0] for words in found] == ["WR10R2R8", "WR11R2R8", "WR04R2R8"]
    assert [(words[3], words[4]) for words in found] == [("1", "6"), ("2", "3"), ("6", "1")]


def test_a_residual_of_16_fails() -> None:
    assert [line for line in hpl.lines(solved(1.0, 15.9)) if line.endswith("PASSED")]
    assert [line for line in hpl.lines(solved(1.0, 16.0)) if line.endswith("FAILED")]
