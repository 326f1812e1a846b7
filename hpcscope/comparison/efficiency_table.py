"""Efficiencies as a terminal shows them."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hpcscope import units
from hpcscope.comparison.efficiency import Efficiencies, Efficiency
from hpcscope.comparison.letters import letter


def table(shares: Efficiencies) -> RenderableType:
    """Return a table for each kind of peak with its definition, then the benchmarks without a peak."""
    legend = "\n".join(f"  {letter(number)} {name}" for number, name in enumerate(shares.runs))
    parts: list[RenderableType] = [Text(f"Efficiency of\n{legend}", style="bold")]
    for kind, definition in shares.definitions.items():
        parts += [Text(f"\n{kind}", style="bold"), Text(definition, style="dim"), _rows(shares, kind)]
    if not shares.rows:
        parts.append(Text("No benchmark in these runs has a measured peak."))
    return Group(*parts, *_lacking(shares))


def share(one: Efficiency | None) -> str:
    """Return an efficiency with its interval in words; a dash if there is none."""
    return "–" if one is None else units.share(one.share, one.low, one.high)


def _rows(shares: Efficiencies, kind: str) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="italic")
    for number in range(len(shares.runs)):
        grid.add_column(letter(number), no_wrap=True, justify="right")
    grid.add_column("benchmark")
    grid.add_column("transport or path")
    for row in shares.rows:
        if row.kind == kind:
            ways = " | ".join(dict.fromkeys(efficiency.way for efficiency in row.known))
            grid.add_row(*map(Text, (*map(share, row.runs), row.label, ways)))
    return grid


def _lacking(shares: Efficiencies) -> Iterator[Text]:
    for index, words in enumerate(shares.without_peak):
        yield Text(("\n" if index == 0 else "") + f"  no peak: {words}", style="dim")
