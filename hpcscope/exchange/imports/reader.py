"""Base classes of formats that read an output line by line, or the JSON objects in it."""

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from hpcscope.catalog.benchmark import Benchmark, Value
from hpcscope.exchange.imports import PrintedFigure, Reading
from hpcscope.exchange.imports.lines import TextLine
from hpcscope.exchange.imports.objects import Printed, objects
from hpcscope.samples.records import Statistic


class LineReader(ABC):
    """Reads the output of one program; a format interprets its lines in `_takes`.

    Dictionaries with None as values are ordered sets.
    """

    TITLE: ClassVar[str]
    """The name of the program: `OSU Micro-Benchmarks`."""
    BEGINS: ClassVar[Sequence[re.Pattern[str]]] = ()
    """The lines that a run begins with, in order; each may be missing."""
    ENDS: ClassVar[re.Pattern[str] | None] = None
    """The line that a run ends with, if there is one."""
    CLAIMS: ClassVar[Sequence[re.Pattern[str]]] = ()
    """Lines that show that an output is of this program."""

    def __init__(self) -> None:
        self.figures: list[PrintedFigure] = []
        self.versions: dict[str, None] = {}
        self.hosts: dict[str, None] = {}
        self.missing: dict[str, None] = {}
        self.differences: dict[str, None] = {}
        self.benchmarks: list[Benchmark] = []
        self.started_unix_s: float | None = None
        self.understood: set[int] = set()
        self.facts: dict[str, int] = {}
        """Line numbers of facts that a run prints only once."""

    @classmethod
    def claims(cls, lines: Sequence[TextLine]) -> bool:
        """Return whether an output holds lines of this program; UsageError if it is another kind of file."""
        return any(pattern.match(line.text) for line in lines for pattern in cls.CLAIMS)

    @classmethod
    def read(cls, lines: Sequence[TextLine]) -> Reading:
        """Return the values of a run; lines that are not understood are left out of `understood`.

        Raises MixedRunsError if the run contradicts itself.
        """
        return cls().reading(lines)

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

    def began(self, unix_s: float) -> None:
        """Store when the program was started, as seconds since 1970; the earliest time counts."""
        self.started_unix_s = unix_s if self.started_unix_s is None else min(unix_s, self.started_unix_s)

    def dated(self, date: str, form: str = "%a %b %d %H:%M:%S %Y") -> None:
        """Read a date, by default in the format of C's `ctime`; the earliest date is the start time."""
        with suppress(ValueError, OverflowError):
            self.began(time.mktime(time.strptime(date, form)))
            self.missing["the time zone (assumed: this machine's)"] = None

    def reading(self, lines: Sequence[TextLine]) -> Reading:
        """Return the content of the lines."""
        for line in lines:
            if line.number not in self.understood and self._takes(line):
                self.understood.add(line.number)
        self.close()
        return Reading(
            figures=self.figures,
            understood=self.understood,
            versions=list(self.versions),
            missing=list(self.missing),
            differences=list(self.differences),
            benchmarks=self.benchmarks,
            hosts=list(self.hosts),
            started_unix_s=self.started_unix_s,
        )


class DocumentReader(LineReader):
    """Reads the JSON objects of an output; `_takes` interprets all other lines."""

    @abstractmethod
    def _document(self, printed: Printed) -> set[int]:
        """Read an object; return the numbers of the lines that were understood, none for another program's."""

    def _takes(self, _line: TextLine) -> bool:
        return False

    def reading(self, lines: Sequence[TextLine]) -> Reading:
        """Return the content of the objects, then of the other lines."""
        for printed in objects(lines):
            self.understood |= self._document(printed)
        return super().reading(lines)
