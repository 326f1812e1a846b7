"""Marks on values that are not valid for future launches at any time, and the footnotes that explain the marks."""

from collections.abc import Iterable

from hpcscope.statistics.summary import HoldsFor, Summary

MARKS: dict[HoldsFor, str] = {"these launches": "+", "these minutes": "*"}
NOTES: dict[HoldsFor, str] = {
    "these launches": "fewer than six launches: intervals describe these launches, not others",
    "these minutes": "successive launches were correlated: intervals describe these minutes, not other times",
}
MIXED = "†"
"""Follows a value that mixes states of the machine."""
MIXED_NOTE = f"{MIXED}: the value mixes machine states, and differs between these states by more than 10 %"


def mark(summary: Summary) -> str:
    """Return the marks of a summary's value; empty if its interval predicts future launches and no states mix."""
    return MARKS.get(summary.holds_for, "") + (MIXED if summary.state_mixture else "")


def footnotes(summaries: Iterable[Summary]) -> list[str]:
    """Return one line for each mark that occurs in the summaries."""
    given = list(summaries)
    present = {case.holds_for for case in given}
    notes = [f"{MARKS[one]} {NOTES[one]}" for one in MARKS if one in present]
    return [*notes, *([MIXED_NOTE] if any(case.state_mixture for case in given) else [])]


def of_most(summaries: Iterable[Summary]) -> str:
    """Return the note that applies to the intervals of more than half of the summaries; empty if no note does."""
    kinds = [summary.holds_for for summary in summaries]
    return next((note for kind, note in NOTES.items() if 2 * kinds.count(kind) > len(kinds)), "")
