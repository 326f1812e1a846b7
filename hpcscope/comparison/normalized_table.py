"""Normalized values as a terminal shows them."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from hpcscope import units
from hpcscope.comparison.normalized import Normalized, NormalizedCase
from hpcscope.comparison.table import CaseTable

_STYLES = {"better": "green", "worse": "bold red", "": ""}


def table(normalized: Normalized) -> RenderableType:
    """Return a table of the modified cases, then the cases without an unmodified test."""
    parts: list[RenderableType] = list(_heading(normalized))
    parts.append(_cases(normalized.cases) if normalized.cases else Text("No case has an unmodified test in A."))
    if left := normalized.without_unmodified:
        shown = "; ".join(left[:3]) + ("; ..." if len(left) > 3 else "")
        cases = units.count(len(left), "case has", "cases have")
        parts.append(Text(f"\n{cases} no unmodified test in {normalized.baseline}: {shown}", style="dim"))
    return Group(*parts)


def _heading(normalized: Normalized) -> Iterator[Text]:
    yield Text(f"{normalized.run}\ndivided by the unmodified tests of {normalized.baseline}", style="bold")
    for side in normalized.optimized:
        yield Text(f"  optimized measurement: {side}", style="yellow")
    yield Text()


def _cases(cases: list[NormalizedCase]) -> CaseTable:
    return CaseTable(
        ("verdict", "value / unmodified [95 % CI]", "value", "unmodified", "case"),
        [
            (
                Text(case.verdict, style=_STYLES[case.verdict]),
                ratio(case),
                units.figure(case.median, case.unit, case.metric),
                units.figure(case.unmodified_median, case.unit, case.metric),
                Text(f"{case.label}: {case.metric_label or units.named(case.metric)}"),
            )
            for case in cases
        ],
    )


def ratio(case: NormalizedCase) -> Text:
    """Return the ratio with its interval: `0.87 [0.85, 0.90]`."""
    if case.ratio_low is None or case.ratio_high is None:
        return Text(f"{case.ratio:.2f}")
    return Text(f"{case.ratio:.2f} [{case.ratio_low:.2f}, {case.ratio_high:.2f}]")
