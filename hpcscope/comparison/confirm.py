"""Regressions of a comparison, checked by a second, interleaved measurement of both sides."""

from hpcscope.comparison.comparison import ComparedCase, Comparison
from hpcscope.comparison.paired import PairedCase, PairedComparison
from hpcscope.comparison.table import change
from hpcscope.plan.case import Key

STEADIEST = 8
"""Number of cases that are measured again to confirm a change that all cases share."""
OF_THE_MACHINE = ("common change", "states differ")
"""Verdicts on changes that two runs cannot distinguish from changes of the machine."""
SUSPICIOUS = 0.2
"""Largest p of an inconclusive case that is measured again."""


def in_question(comparison: Comparison) -> list[Key]:
    """Return the cases to measure again: worse, perhaps worse, and the steadiest that the machine may explain."""
    worse = [case.key for case in comparison.cases if case.verdict == "worse"]
    common = comparison.common.ratio if comparison.common else 1.0
    slower = [case for case in comparison.cases if case.loss > 0]
    shared = sorted((case for case in slower if case.verdict in OF_THE_MACHINE), key=_width)[:STEADIEST]
    unsure = [
        case
        for case in comparison.cases
        if case.verdict == "inconclusive"
        and (case.p or 0.0) <= SUSPICIOUS
        and ((case.ratio or 0.0) > common) == (case.better == "lower")
    ]
    return list(dict.fromkeys([*worse, *(case.key for case in (*shared, *unsure))]))


def confirmed(comparison: Comparison, again: PairedComparison) -> Comparison:
    """Return the comparison in which a case is worse only if it was worse again."""
    found = {(case.a, case.definition): case for case in again.cases}
    cases = [_in_light_of(case, found.get((case.spelling, case.definition))) for case in comparison.cases]
    return comparison.model_copy(update={"cases": cases})


def _in_light_of(case: ComparedCase, again: PairedCase | None) -> ComparedCase:
    if again is None or case.verdict not in ("worse", "inconclusive", *OF_THE_MACHINE):
        return case
    words = again.reason if again.ratio is None else f"{change(again)} in {len(again.rounds)} rounds"
    if again.verdict == "worse":
        return case.model_copy(update={"verdict": "worse", "reason": f"confirmed by measuring again: {words}"})
    if case.verdict == "worse":
        return case.model_copy(update={"verdict": "inconclusive", "reason": f"not confirmed: {words}"})
    if case.verdict == again.verdict or again.verdict == "no difference":
        return case.model_copy(update={"verdict": again.verdict, "reason": f"measured again: {words}"})
    return case.model_copy(update={"reason": f"not confirmed: {words}"})


def _width(case: ComparedCase) -> float:
    return (case.ratio_high or 0.0) / (case.ratio_low or 1.0)
