"""What the tests of formats have in common: an output of a real program, read as `scope import` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.declared import declared
from hpcscope.exchange import imports
from hpcscope.exchange.imports import PrintedFigure, Reading
from hpcscope.exchange.imports.lines import decoded, lines

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Read:
    """A reading, and the texts of the lines that were not understood."""

    reading: Reading
    unread: list[str]

    def figures(self, benchmark: str, metric: str) -> list[PrintedFigure]:
        """Return the figures of a metric, in the order of the lines."""
        return [one for one in self.reading.figures if (one.benchmark, one.metric) == (benchmark, metric)]

    def values(self, benchmark: str, metric: str) -> list[float]:
        """Return the values of a metric, in the order of the lines."""
        return [value for one in self.figures(benchmark, metric) for value in one.values]


def data(name: str) -> str:
    """Return an excerpt of a real output."""
    return decoded(name, (DATA / name).read_bytes())


def read(format_: str, text: str) -> Read:
    """Read an output; the format must claim it, and every figure must be of a benchmark that is declared."""
    all_lines = lines(text)
    chosen = imports.format_of(format_)
    claiming = [name for name in imports.names() if imports.format_of(name).claims(all_lines)]
    assert claiming == [format_]
    reading = imports.read(chosen, all_lines)
    catalog = Catalog([*declared(), *reading.benchmarks])
    for one in reading.figures:
        assert one.metric in catalog[one.benchmark].metric
        assert set(one.parameters) <= set(catalog[one.benchmark].parameter)
        choices = {name: each.choices for name, each in catalog[one.benchmark].parameter.items() if each.choices}
        assert all(str(one.parameters.get(name, of[0])) in of for name, of in choices.items())
    understood = reading.understood | {one.line for one in reading.figures}
    unread = [line.text for line in all_lines if line.number not in understood]
    return Read(reading, [text for text in unread if any(letter.isalnum() for letter in text)])
