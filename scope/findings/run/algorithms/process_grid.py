"""A grid of processes or a block of the matrix under which linear algebra is slower than under another."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.algorithms.cases import AlgorithmCase, algorithm_cases
from scope.findings.run.context import Context

SMALLEST_EXCESS = 0.05
GRID = ("grid_rows", "grid_columns")
Words = Callable[[AlgorithmCase], str]


def find(context: Context) -> list[Finding]:
    """Find for each benchmark and number of processes what costs most, at the largest size where it was varied.

    What was measured without asking for a grid or block is advice; what somebody asked for is information.
    """
    cases = [case for case in algorithm_cases(context) if "grid_rows" in case.total.parameters]
    return [
        *_slower(cases, "process-grid-unsuitable", GRID, _grid_words),
        *_slower(cases, "block-off-optimum", ("block",), _block_words),
    ]


def grid_of(case: AlgorithmCase) -> tuple[int, int]:
    """Return rows and columns of the grid, also where the benchmark chose them: as near to a square as can be."""
    rows, columns = (int(case.total.parameters[name]) for name in GRID)
    ranks = case.total.ranks
    if not rows and columns:
        rows = ranks // columns
    rows = rows or max(each for each in range(1, math.isqrt(ranks) + 1) if ranks % each == 0)
    return rows, ranks // rows


def _grid_words(case: AlgorithmCase) -> str:
    return "a grid of {} x {}".format(*grid_of(case))


def _block_words(case: AlgorithmCase) -> str:
    return f"blocks of {case.total.parameters['block']}"


def _slower(cases: list[AlgorithmCase], code: str, varied: tuple[str, ...], words: Words) -> list[Finding]:
    """Return a finding for each benchmark, transport and number of processes."""
    groups: dict[tuple[object, ...], list[AlgorithmCase]] = defaultdict(list)
    for case in cases:
        if code != "process-grid-unsuitable" or case.total.ranks > 1:
            groups[_others(case, varied)].append(case)
    worst: dict[tuple[object, ...], tuple[AlgorithmCase, AlgorithmCase]] = {}
    for group in groups.values():
        best = min(group, key=lambda case: case.total.median or math.inf)
        for case in group:
            key = (case.total.benchmark, case.total.ranks, case.total.transport)
            if not _certain(best, case):
                continue
            known = worst.get(key)
            if known is None or (case.size, _excess(best, case)) > (known[1].size, _excess(*known)):
                worst[key] = (best, case)
    return [_finding(code, varied, best, case, words) for best, case in worst.values()]


def _others(case: AlgorithmCase, varied: tuple[str, ...]) -> tuple[object, ...]:
    """Return what cases must have in common to differ in what is varied only."""
    total = case.total
    fixed = tuple(sorted((k, str(v)) for k, v in total.parameters.items() if k not in (*varied, *GRID)))
    grid = () if varied == GRID else grid_of(case)
    return (total.benchmark, total.ranks, total.transport, total.placement, total.origin, fixed, grid)


def _certain(best: AlgorithmCase, case: AlgorithmCase) -> bool:
    high, low = best.total.ci_high, case.total.ci_low
    return high is not None and low is not None and high < low and _excess(best, case) > SMALLEST_EXCESS


def _excess(best: AlgorithmCase, case: AlgorithmCase) -> float:
    return (case.total.median or 0.0) / (best.total.median or 1.0) - 1


def _finding(
    code: str, varied: tuple[str, ...], best: AlgorithmCase, case: AlgorithmCase, words: Words
) -> Finding:
    total, excess = case.total, _excess(best, case)
    asked = any(int(total.parameters[name]) for name in GRID) or varied != GRID
    better = f"grid_rows={grid_of(best)[0]}" if varied == GRID else f"block={best.total.parameters['block']}"
    return Finding(
        code=code,
        severity="information" if asked else "advice",
        title=(
            f"{total.benchmark} takes {excess:.0%} longer with {words(case)} than with {words(best)}: "
            f"{units.quantity(total.median, 's')} against {units.quantity(best.total.median, 's')} "
            f"(n={case.size}, {total.ranks} ranks)"
        ),
        where={
            "benchmark": total.benchmark,
            "size": case.size,
            "ranks": total.ranks,
            "transport": total.transport,
            "layer": "algorithm",
        },
        evidence=[
            Evidence(what=f"time_s of {one.total.label}", value=one.total.median or 0.0, unit="s")
            for one in (case, best)
        ],
        advice=f"Use {better} at this size and number of processes; another size may want another.",
        lost=excess / (1 + excess),
    )
