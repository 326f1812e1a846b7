"""Base class of formats that read an output line by line."""

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
    """Return the `claims` of a format whose outputs have a line that matches one of the patterns."""
    return lambda lines: any(pattern.match(line.text) for line in lines for pattern in patterns)


class LineReader(ABC):
    """Reads the output of one program; a format interprets its lines in `_takes`.

    Dictionaries with None as values are ordered sets.
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
        """Line numbers of facts that a run prints only once."""

    @classmethod
    def reading(cls, lines: Sequence[TextLine]) -> Reading:
        """Return the content of the lines; this is the `read` of a format."""
        return cls().read(lines)

    @abstractmethod
    def _takes(self, line: TextLine) -> bool:
        """Read a line; return whether it was understood."""

    def close(self) -> None:  # noqa: B027  # optional in subclasses
        """Add what is known only at the end of the output."""

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
        """Add a value of a foreign benchmark declared with one metric; `further`: more fields of PrintedFigure."""
        name, (measured, *_) = benchmark.name, benchmark.metrics
        self.benchmarks.append(benchmark)
        self.figures.append(
            PrintedFigure(name, {**parameters}, ranks, measured.name, (value,), statistic, line, **further)
        )

    def dated(self, date: str, form: str = "%a %b %d %H:%M:%S %Y") -> None:
        """Read a date, by default in the format of C's `ctime`; the earliest date is the start time."""
        with suppress(ValueError, OverflowError):
            began_s = time.mktime(time.strptime(date, form))
            self.started_unix_s = min(began_s, self.started_unix_s or began_s)
            self.missing["the time zone (assumed: this machine's)"] = None

    def read(self, lines: Sequence[TextLine]) -> Reading:
        """Return the content of the lines."""
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
