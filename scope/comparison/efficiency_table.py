"""Efficiencies as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from scope import units
from scope.comparison.efficiency import Efficiencies, Efficiency


def table(shares: Efficiencies) -> RenderableType:
    """Return a table for each kind of peak with its definition, then the benchmarks without a peak."""
    parts: list[RenderableType] = [Text(f"Efficiency of A {shares.a}\nand of B {shares.b}", style="bold")]
    for kind, definition in shares.definitions.items():
        parts += [Text(f"\n{kind}", style="bold"), Text(definition, style="dim"), _rows(shares, kind)]
    if not shares.rows:
        parts.append(Text("Neither run has a benchmark with its peak."))
    return Group(*parts, *_lacking(shares))


def share(one: Efficiency | None) -> str:
    """Return an efficiency with its interval in words; a dash where there is none."""
    return "–" if one is None else units.share(one.share, one.low, one.high)


def _rows(shares: Efficiencies, kind: str) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="italic")
    for name in ("A", "B"):
        grid.add_column(name, no_wrap=True, justify="right")
    grid.add_column("benchmark")
    grid.add_column("transport or path")
    for row in shares.rows:
        if row.kind == kind:
            ways = dict.fromkeys(one.way for one in (row.a, row.b) if one is not None)
            grid.add_row(*map(Text, (share(row.a), share(row.b), row.label, " | ".join(ways))))
    return grid


def _lacking(shares: Efficiencies) -> Iterator[Text]:
    for index, words in enumerate(shares.without_peak):
        yield Text(("\n" if index == 0 else "") + f"  no peak: {words}", style="dim")
