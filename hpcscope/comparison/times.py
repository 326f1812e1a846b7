"""The cases of a comparison, each time once: a rate that follows from a time is not counted separately."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from hpcscope.comparison.comparison import ComparedCase, Verdict

_SAME = 1e-3
"""Changes that agree within this fraction are one change: of a time, and of a rate that follows from it."""


@dataclass(frozen=True)
class ComparedRow:
    """One time of one case, with the rates that follow from it."""

    case: ComparedCase
    metrics: str


def rows(cases: Sequence[ComparedCase]) -> list[ComparedRow]:
    """Join the metrics of a case that are one time: the time, and the rates that changed by its inverse."""
    of_case: dict[Hashable, list[list[ComparedCase]]] = {}
    times: list[list[ComparedCase]] = []
    for case in cases:
        own = of_case.setdefault(case.key, [])
        known = next((row for row in own if _is_one_time(row[0], case)), None)
        if known is None:
            own.append([case])
            times.append(own[-1])
        else:
            known.append(case)
    return [
        ComparedRow(
            min(row, key=lambda case: case.better != "lower"), ", ".join(case.metric_words for case in row)
        )
        for row in times
    ]


def counts(cases: Sequence[ComparedCase]) -> Counter[Verdict]:
    """Return how many times have each verdict."""
    return Counter(row.case.verdict for row in rows(cases))


def _is_one_time(case: ComparedCase, other: ComparedCase) -> bool:
    if case.ratio is None or other.ratio is None or case.definition != other.definition or not other.ratio:
        return False
    expected = other.ratio if case.better == other.better else 1 / other.ratio
    return abs(case.ratio / expected - 1) < _SAME
