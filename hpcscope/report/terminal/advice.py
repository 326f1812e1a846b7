"""The effect of an advice that was tried, as the terminal shows it."""

from collections.abc import Iterator

from rich.text import Text

from hpcscope.comparison.paired import PairedComparison
from hpcscope.comparison.table import change, named
from hpcscope.findings.finding import Finding


def tried(finding: Finding, asked: str, comparison: PairedComparison, gained: bool) -> Iterator[Text]:
    """Yield the effect of a change on each result of its case, with the interval."""
    yield Text(f"\nTried {asked}: {'gained' if gained else 'nothing gained'}", style="bold")
    yield Text(f"  {finding.code}: {finding.title}", style="dim")
    for case in comparison.cases:
        values = f"{case.shown(case.a_median)} -> {case.shown(case.b_median)}"
        yield Text.assemble(f"  {case.verdict:<14}{change(case)}  {values}  ", named(case))
