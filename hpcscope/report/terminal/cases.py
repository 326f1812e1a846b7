"""The figures of a small run on the terminal: the first result of each benchmark, one line and bar per case."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.text import Text

from hpcscope import units
from hpcscope.findings.results import Run
from hpcscope.report.figure import common_words, label
from hpcscope.report.order import case_key, factors, varying
from hpcscope.report.run.results import results
from hpcscope.report.terminal.bar import bar
from hpcscope.report.validity import mark
from hpcscope.report.wording import definition, direction
from hpcscope.statistics.summary import Summary

MOST = 30
"""Cases of a run that are listed; of a larger run `scope show` lists them."""
_LABEL_COLUMNS, _FIGURE_COLUMNS, _BAR_COLUMNS = 44, 28, 24


def lines(run: Run, blocks: bool = True) -> Iterator[Text]:
    """Yield the figures of a run of up to `MOST` cases, nothing of a larger one."""
    found = [one for name in run.benchmarks.names for one in _first_result(run, name)]
    if not 0 < len(found) <= MOST:
        return
    for _, group in groupby(found, key=lambda one: one.benchmark):
        yield Text()
        yield from _of_benchmark(list(group), run, blocks)


def _first_result(run: Run, benchmark: str) -> list[Summary]:
    """Return the figures of a benchmark for the first of its metrics that is a result, in reading order."""
    shown = results(run, benchmark)
    measured = {one.metric for one in shown}
    first = next((name for name in run.benchmarks[benchmark].metric if name in measured), None)
    return sorted((one for one in shown if one.metric == first), key=case_key)


def _of_benchmark(group: list[Summary], run: Run, blocks: bool) -> Iterator[Text]:
    first, catalog = group[0], run.benchmarks
    title = catalog[first.benchmark].title
    metric = catalog.metric_label(first.metric, first.benchmark)
    same = common_words(group, catalog)
    alone = len(group) == 1
    yield Text.assemble(
        (", ".join(filter(None, [title, "" if alone else same])), "bold"),
        (f"  {metric} ({definition(first.definition)}), {direction(first.better)}", "dim"),
    )
    names = varying(group)[0]
    largest = max(one.median or 0.0 for one in group)
    for one in group:
        chosen = factors(one)
        differing = [label(catalog, one.benchmark, name, chosen[name]) for name in names if name in chosen]
        words = same if alone else ", ".join(differing)
        figure = f"{units.interval(one.median, one.ci_low, one.ci_high, one.unit)} {mark(one)}".rstrip()
        line = Text(f"  {words:<{_LABEL_COLUMNS - 2}}  {figure:<{_FIGURE_COLUMNS}}")
        if not alone:
            share = (one.median or 0.0) / largest if largest > 0 else 0.0
            line.append(bar(share, _BAR_COLUMNS, blocks), style="cyan")
        line.rstrip()
        yield line
