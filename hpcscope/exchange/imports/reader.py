"""Base classes of formats that read an output line by line, or the JSON objects in it."""

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from hpcscope.catalog.benchmark import Metric, Parameter
from hpcscope.errors import UsageError
from hpcscope.exchange.imports import Given, PrintedFigure, Reading, declared
from hpcscope.exchange.imports.lines import TextLine
from hpcscope.exchange.imports.objects import Printed, objects
from hpcscope.samples.records import Statistic


@dataclass
class LineReader(Reading, ABC):
    """Reads the output of one program into itself; a format interprets its lines in `_takes`."""

    TITLE: ClassVar[str]
    """The name of the program: `OSU Micro-Benchmarks`."""
    BEGINS: ClassVar[Sequence[re.Pattern[str]]] = ()
    """The lines that a run begins with, in order; each may be missing."""
    ENDS: ClassVar[re.Pattern[str] | None] = None
    """The line that a run ends with, if there is one."""
    CLAIMS: ClassVar[Sequence[re.Pattern[str] | tuple[re.Pattern[str], ...]]] = ()
    """Lines that show that an output is of this program; all patterns of a tuple must occur."""
    REFUSED: ClassVar[Mapping[re.Pattern[str], str]] = {}
    """Lines of the program's other kinds of output, and what must be imported instead."""
    LACKS: ClassVar[Sequence[str]] = ()
    """What the program never prints, see `missing`."""
    DIFFERS: ClassVar[Sequence[str]] = ()
    """How the program always differs, see `differences`."""

    facts: dict[str, int] = field(default_factory=dict)
    """Line numbers of facts that a run prints only once."""

    def __post_init__(self) -> None:
        self.missing += self.LACKS
        self.differences += self.DIFFERS

    @classmethod
    def claims(cls, lines: Sequence[TextLine]) -> bool:
        """Return whether an output holds lines of this program; UsageError if it is another kind of file."""

        def occurs(pattern: re.Pattern[str]) -> bool:
            return any(pattern.match(line.text) for line in lines)

        if any(all(map(occurs, claim if isinstance(claim, tuple) else (claim,))) for claim in cls.CLAIMS):
            return True
        if refusal := next((words for pattern, words in cls.REFUSED.items() if occurs(pattern)), ""):
            raise UsageError(refusal)
        return False

    @classmethod
    def read(cls, lines: Sequence[TextLine]) -> Reading:
        """Return the values of a run; lines that are not understood are left out of `understood`.

        Raises MixedRunsError if the run contradicts itself.
        """
        return cls().reading(lines)

    @abstractmethod
    def _takes(self, line: TextLine) -> bool:
        """Read a line; return whether it was understood."""

    def close(self) -> None:  # optional in subclasses
        """Add what is known only at the end of the output."""

    def foreign(
        self,
        name: str,
        summary: str,
        metrics: Sequence[Metric],
        given: Sequence[Given | Parameter] = (),
        ranks: int | None = None,
        title: str = "",
    ) -> PrintedFigure:
        """Declare a foreign benchmark, titled as its program by default; return a case without a value.

        `given` may have parameters whose values are not known yet, or not printed.
        """
        parameters = [each.parameter if isinstance(each, Given) else each for each in given]
        self.benchmarks.append(declared(name, title or self.TITLE, summary, metrics, parameters))
        of = {each.parameter.name: each.value for each in given if isinstance(each, Given)}
        return PrintedFigure(name, of, ranks, metrics[0].name)

    def add(
        self, case: PrintedFigure, value: float, line: int, statistic: Statistic = "each", **further: Any
    ) -> None:
        """Add a value of a case; `further`: more fields of PrintedFigure."""
        self.figures.append(replace(case, values=(value,), line=line, statistic=statistic, **further))

    def began(self, unix_s: float) -> None:
        """Store when the program was started, as seconds since 1970; the earliest time counts."""
        self.started_unix_s = unix_s if self.started_unix_s is None else min(unix_s, self.started_unix_s)

    def dated(self, date: str, form: str = "%a %b %d %H:%M:%S %Y") -> None:
        """Read a date, by default in the format of C's `ctime`; the earliest date is the start time."""
        with suppress(ValueError, OverflowError):
            self.began(time.mktime(time.strptime(date, form)))
            self.missing.append("the time zone (assumed: this machine's)")

    def reading(self, lines: Sequence[TextLine]) -> Reading:
        """Return the content of the lines."""
        for line in lines:
            if line.number not in self.understood and self._takes(line):
                self.understood.add(line.number)
        self.close()
        return self


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
