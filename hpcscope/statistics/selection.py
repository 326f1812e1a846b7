"""Selection of cases and summaries of a run by their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from hpcscope.catalog.benchmark import Value
from hpcscope.errors import ScopeError
from hpcscope.plan.case import Case
from hpcscope.statistics.summary import Summary
from hpcscope.units import parsed

if TYPE_CHECKING:
    from pandas import DataFrame

BATCH = ("ranks", "transport", "placement")
"""Keys that select cases, besides their parameters."""
DEFAULTS: dict[str, Value] = {"transport": "default", "placement": "core"}


class Statistics(Sequence[Summary]):
    """The summaries of a run: one for each case, metric and definition of time."""

    def __init__(self, summaries: Iterable[Summary]) -> None:
        self._summaries = list(summaries)

    @overload
    def __getitem__(self, index: int) -> Summary: ...
    @overload
    def __getitem__(self, index: slice) -> Statistics: ...
    def __getitem__(self, index: int | slice) -> Summary | Statistics:
        cases = self._summaries[index]
        return Statistics(cases) if isinstance(cases, list) else cases

    def __len__(self) -> int:
        return len(self._summaries)

    def __iter__(self) -> Iterator[Summary]:
        return iter(self._summaries)

    @cached_property
    def primary(self) -> list[Summary]:
        """The summaries under the headline definitions of their metrics, including wrong ones."""
        return [summary for summary in self._summaries if summary.primary]

    def select(
        self, benchmark: str | None = None, metric: str | None = None, *, headline: bool = True, **choices: Value
    ) -> Statistics:
        """Return the summaries of a benchmark and a metric whose cases have these parameters.

        `headline`: only under the headline definition of each metric. `choices` may also be ranks, transport and
        placement; sizes may be written as `1Ki`.
        """
        return Statistics(
            [
                summary
                for summary in (self.primary if headline else self._summaries)
                if benchmark in (None, summary.benchmark)
                and metric in (None, summary.metric)
                and matches(summary, choices)
            ]
        )

    def to_frame(self) -> DataFrame:
        """Return one row per summary (pandas), parameters as columns; raises ScopeError without pandas."""
        return frame(_row(summary) for summary in self._summaries)


def matches(case: Case, choices: Mapping[str, Value]) -> bool:
    """Return whether a case has these parameters, ranks, transport and placement."""
    return all(_same(chosen(case, name), value) for name, value in choices.items())


def chosen(case: Case, name: str) -> Value | None:
    """Return what was chosen for a case: a parameter, its ranks, transport or placement."""
    if name in BATCH:
        value: Value = str(case.placement) if name == "placement" else getattr(case, name)
        return value
    return case.parameters.get(name)


def _same(value: Value | None, asked: Value) -> bool:
    if isinstance(asked, str) and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return value == parsed(asked)
        except ValueError:
            return False
    return value == asked


def _row(summary: Summary) -> dict[str, Any]:
    plain = summary.model_dump(exclude={"parameters", "placement", "work", "launch_medians", "launch_numbers"})
    return {"benchmark": summary.benchmark, **summary.parameters, "placement": str(summary.placement), **plain}


def frame(rows: Iterator[dict[str, Any]]) -> DataFrame:
    """Return rows as a data frame (pandas); raises ScopeError if pandas is not installed."""
    try:
        from pandas import DataFrame
    except ImportError as error:
        raise ScopeError("to_frame() needs pandas, which is not installed: run `pip install pandas`") from error
    return DataFrame(list(rows))
