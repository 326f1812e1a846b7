"""Panels are on the critical path of LINPACK: few ranks factor them while the others wait."""

from hpcscope import units
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.findings.run.program_case import ProgramCase, algorithm_cases

BENCHMARK = "algorithm.linpack"
LARGEST_SHARE = 0.25
PARTS = ("panel_s", "broadcast_s")


def find(run: Run) -> list[Finding]:
    """Find for each number of ranks whether panels delay the largest LINPACK."""
    cases = [case for case in algorithm_cases(run) if case.total.benchmark == BENCHMARK and case.total.ranks > 1]
    largest = largest_of_each(
        cases,
        lambda case: (case.total.ranks, case.total.transport),
        lambda case: (case.size, -(case.total.median or 0)),
    )
    return [_finding(case, part) for case in largest if (part := _longest(case)) is not None]


def _longest(case: ProgramCase) -> str | None:
    """Return the part over LARGEST_SHARE of the total time at 95 % confidence; the longer if both are."""
    whole = case.total.ci_high
    over = [
        part
        for part in PARTS
        if whole and (low := case.figures[part].ci_low if part in case.figures else None)
        if low > LARGEST_SHARE * whole
    ]
    return max(over, key=case.seconds) if over else None


def _finding(case: ProgramCase, part: str) -> Finding:
    total = case.total
    share = case.seconds(part) / (total.median or 1.0)
    what = "factoring panels" if part == "panel_s" else "waiting for panels"
    ahead = int(total.parameters.get("look_ahead", 1)) > 0
    return Finding(
        code="panel-on-critical-path",
        severity="advice",
        title=(
            f"LINPACK of {case.size} equations on {total.ranks} ranks spends {units.percent(share)} of "
            f"its {units.quantity(total.median, 's')} {what}"
        ),
        where=case.where | {"part": part.removesuffix("_s")},
        evidence=case.evidence("time_s", "panel_s", "broadcast_s", "swap_s", "update_s"),
        advice=(
            ("" if ahead else "Use look_ahead=1. ")
            + "Try smaller blocks and more equations. A grid with fewer rows needs fewer messages per pivot; a "
            "grid with fewer columns needs fewer messages per panel."
        ),
        lost=share,
    )
