"""A process grid or block size that makes linear algebra slower than another choice does."""

import math

from hpcscope import units
from hpcscope.catalog.ranks import grid_extents
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import but_for, certainly_longer, excess_of, how_compared, largest_of_each
from hpcscope.findings.run.program_case import ProgramCase, algorithm_cases
from hpcscope.grouping import grouped

SMALLEST_EXCESS = 0.05
GRID = ("grid_rows", "grid_columns")
BLOCK = ("block",)
CODES = {GRID: "process-grid-unsuitable", BLOCK: "block-off-optimum"}


def find(run: Run) -> list[Finding]:
    """Find for each benchmark and number of ranks the costliest choice, at the largest size with several choices.

    A grid that the benchmark chose by itself gives advice; a grid that the user requested gives information.
    """
    cases = [case for case in algorithm_cases(run) if all(name in case.total.parameters for name in GRID)]
    return [*_slower(cases, GRID), *_slower(cases, BLOCK)]


def _grid(case: ProgramCase) -> tuple[int, int]:
    return grid_extents(case.total.parameters, case.total.ranks)


def _words(case: ProgramCase, varied: tuple[str, ...]) -> str:
    return (
        "a {} x {} grid".format(*_grid(case)) if varied == GRID else f"blocks of {case.total.parameters['block']}"
    )


def _chosen(case: ProgramCase, varied: tuple[str, ...]) -> dict[str, str | int | float]:
    if varied == GRID:
        return {"grid": "{} x {}".format(*_grid(case))}
    return {"block": int(case.total.parameters["block"])}


def _slower(cases: list[ProgramCase], varied: tuple[str, ...]) -> list[Finding]:
    """Return a finding for each benchmark, transport and number of ranks."""
    choosing = [case for case in cases if varied != GRID or case.total.ranks > 1]
    groups = grouped(choosing, lambda case: _others(case, varied))
    slower = [
        (best, case)
        for group in groups.values()
        for best in [min(group, key=lambda case: case.total.median or math.inf)]
        for case in group
        if certainly_longer(case.total, best.total, SMALLEST_EXCESS)
    ]
    worst = largest_of_each(
        slower,
        lambda pair: (pair[1].total.benchmark, pair[1].total.ranks, pair[1].total.transport),
        lambda pair: (pair[1].size, _excess(*pair)),
    )
    return [_finding(varied, best, case) for best, case in worst]


def _others(case: ProgramCase, varied: tuple[str, ...]) -> tuple[object, ...]:
    """Return the parameters that comparable cases have in common."""
    return (*but_for(case.total, *varied, *GRID), () if varied == GRID else _grid(case))


def _excess(best: ProgramCase, case: ProgramCase) -> float:
    return excess_of(case.total, best.total)


def _finding(varied: tuple[str, ...], best: ProgramCase, case: ProgramCase) -> Finding:
    total, excess = case.total, _excess(best, case)
    asked = any(int(total.parameters[name]) for name in GRID) or varied != GRID
    better = f"grid_rows={_grid(best)[0]}" if varied == GRID else f"block={best.total.parameters['block']}"
    return Finding(
        code=CODES[varied],
        severity="information" if asked else "advice",
        title=(
            f"{case.name} on {total.ranks} ranks takes {units.percent(excess)} longer with {_words(case, varied)} "
            f"than with {_words(best, varied)}, "
            f"{units.quantity(total.median, 's')} against {units.quantity(best.total.median, 's')}"
        ),
        where=case.where | _chosen(case, varied) | {f"better_{k}": v for k, v in _chosen(best, varied).items()},
        evidence=[
            *case.evidence(total.metric),
            *best.evidence(best.total.metric),
            how_compared(total, best.total),
        ],
        advice=f"Use {better} at this size and number of ranks; other sizes may need other values.",
        lost=excess / (1 + excess),
    )
