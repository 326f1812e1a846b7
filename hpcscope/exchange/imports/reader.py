"""What formats that go through an output line by line have in common."""

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from hpcscope.catalog.benchmark import Benchmark, Value
from hpcscope.exchange.imports import PrintedFigure, Reading
from hpcscope.exchange.imports.lines import TextLine
from hpcscope.samples.records import Statistic


def claiming(*patterns: re.Pattern[str]) -> Callable[[Sequence[TextLine]], bool]:
    """Return the `claims` of a format whose outputs have a line that begins as one of the patterns."""
    return lambda lines: any(pattern.match(line.text) for line in lines for pattern in patterns)


class LineReader(ABC):
    """Reads an output of one program; a format says in `_takes` what its lines mean.

    Dictionaries without values keep each entry once, in their order.
    """

    title: str
    """The name of the program."""

    def __init__(self) -> None:
        self.figures: list[PrintedFigure] = []
        self.versions: dict[str, None] = {}
        self.hosts: dict[str, None] = {}
        self.missing: dict[str, None] = {}
        self.differences: dict[str, None] = {}
        self.benchmarks: list[Benchmark] = []
        self.started_unix_s: float | None = None
        self.facts: dict[str, int] = {}
        """The lines of what a run says once."""

    @classmethod
    def reading(cls, lines: Sequence[TextLine]) -> Reading:
        """Return what the lines say: the `read` of a format."""
        return cls().read(lines)

    @abstractmethod
    def _takes(self, line: TextLine) -> bool:
        """Read a line; return whether it was understood."""

    def close(self) -> None:  # noqa: B027  # most formats have nothing to end
        """Take what only the end of the output shows."""

    def add(
        self,
        benchmark: Benchmark,
        parameters: Mapping[str, Value],
        ranks: int | None,
        value: float,
        line: int,
        statistic: Statistic = "each",
        **further: Any,
    ) -> None:
        """Add a figure of a foreign benchmark that is declared with one metric; `further`: of PrintedFigure."""
        name, (measured, *_) = benchmark.name, benchmark.metrics
        self.benchmarks.append(benchmark)
        self.figures.append(
            PrintedFigure(name, {**parameters}, ranks, measured.name, (value,), statistic, line, **further)
        )

    def dated(self, date: str, form: str = "%a %b %d %H:%M:%S %Y") -> None:
        """Take a date, by default as C's `ctime` prints it; the earliest counts."""
        with suppress(ValueError, OverflowError):
            began_s = time.mktime(time.strptime(date, form))
            self.started_unix_s = min(began_s, self.started_unix_s or began_s)
            self.missing["the time zone (assumed: this machine's)"] = None

    def read(self, lines: Sequence[TextLine]) -> Reading:
        """Return what the lines say."""
        understood = {line.number for line in lines if self._takes(line)}
        self.close()
        return Reading(
            program=f"{self.title} {', '.join(self.versions)}".strip(),
            figures=self.figures,
            understood=understood,
            missing=list(self.missing),
            differences=list(self.differences),
            benchmarks=self.benchmarks,
            hosts=list(self.hosts),
            started_unix_s=self.started_unix_s,
        )
