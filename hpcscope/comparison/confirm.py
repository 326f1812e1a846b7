"""Regressions of a comparison, in the light of a second measurement of both sides in turn."""

from __future__ import annotations

from hpcscope.comparison.comparison import ComparedCase, Comparison
from hpcscope.comparison.paired import PairedCase, PairedComparison
from hpcscope.comparison.table import change
from hpcscope.plan.case import Key

STEADIEST = 8
"""So many cases are measured again to confirm a change that all cases share."""
UNDECIDED = ("common change", "states differ")
"""Verdicts on changes that two runs cannot tell from those of the machine."""


def in_question(comparison: Comparison) -> list[Key]:
    """Return the cases to measure again: what is worse, and the steadiest of what the machine may explain."""
    worse = [case.key for case in comparison.cases if case.verdict == "worse"]
    shared = [case for case in comparison.cases if case.verdict in UNDECIDED and case.loss > 0]
    steadiest = sorted(shared, key=_width)[:STEADIEST]
    return list(dict.fromkeys([*worse, *(case.key for case in steadiest)]))


def confirmed(comparison: Comparison, again: PairedComparison) -> Comparison:
    """Return the comparison in which a case is worse only where it was worse again."""
    found = {(case.a, case.definition): case for case in again.cases}
    cases = [_in_light_of(case, found.get((case.spelling, case.definition))) for case in comparison.cases]
    return comparison.model_copy(update={"cases": cases})


def _in_light_of(case: ComparedCase, again: PairedCase | None) -> ComparedCase:
    if again is None or case.verdict not in ("worse", *UNDECIDED):
        return case
    words = again.reason if again.ratio is None else f"{change(again)} in {len(again.rounds)} rounds"
    if again.verdict == "worse":
        return case.model_copy(update={"verdict": "worse", "reason": f"confirmed by measuring again: {words}"})
    if case.verdict == "worse":
        return case.model_copy(update={"verdict": "inconclusive", "reason": f"not confirmed: {words}"})
    return case.model_copy(update={"reason": f"not confirmed: {words}"})


def _width(case: ComparedCase) -> float:
    return (case.ratio_high or 0.0) / (case.ratio_low or 1.0)
