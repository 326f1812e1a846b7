"""The values of a small run on the terminal: the first result of each benchmark, with a line and bar per case."""

from collections.abc import Iterator
from itertools import groupby

from rich.text import Text

from hpcscope import units
from hpcscope.findings.results import Run
from hpcscope.report.figure import common_words, label
from hpcscope.report.order import case_key, factors, level, level_rank, varying
from hpcscope.report.run.results import has_default_problem, results
from hpcscope.report.terminal.bar import bar
from hpcscope.report.validity import mark
from hpcscope.report.wording import definition, direction
from hpcscope.statistics.summary import Summary

MOST = 30
"""Maximum number of cases in a run whose cases are listed; for a larger run, `scope show` lists them."""
_LABEL_COLUMNS, _FIGURE_COLUMNS, _BAR_COLUMNS, _LEVEL_COLUMNS = 44, 28, 24, 12


def lines(run: Run, blocks: bool = True) -> Iterator[Text]:
    """Yield the values of a run with up to `MOST` cases; nothing for a larger run."""
    cases = [case for name in run.benchmarks.names for case in _first_result(run, name)]
    if not 0 < len(cases) <= MOST:
        return
    for _, group in groupby(cases, key=lambda summary: summary.benchmark):
        yield Text()
        yield from _of_benchmark(list(group), run, blocks)


def values_by_level(run: Run) -> Iterator[Text]:
    """Yield one value for each benchmark with a rung, level by level."""
    levels = groupby(sorted(run.benchmarks.names, key=lambda name: level_rank(level(name))), key=level)
    for head, benchmarks in levels:
        for benchmark in benchmarks:
            if run.benchmarks[benchmark].rungs and (case := _usual(run, benchmark)):
                value = (
                    f"{units.interval(case.median, case.ci_low, case.ci_high, case.unit)} {mark(case)}".rstrip()
                )
                yield Text.assemble(
                    (f"  {head:<{_LEVEL_COLUMNS}}", "bold"), f"{value:<{_FIGURE_COLUMNS}}  {case.label}"
                )
                head = ""


def _usual(run: Run, benchmark: str) -> Summary | None:
    """Return the case with the usual problem and methods: the shortest message for a latency, else the largest."""
    cases = [case for case in _first_result(run, benchmark) if has_default_problem(run.benchmarks, case)]
    defaults = run.benchmarks.defaults(benchmark)

    def unusual(case: Summary) -> int:
        words = [
            name for name, value in case.parameters.items() if isinstance(value, str) and value != defaults[name]
        ]
        return len(words) + (case.transport != "default")

    least = min(map(unusual, cases), default=0)
    usual = [case for case in cases if unusual(case) == least]
    latency = level(benchmark) in ("network", "mpi") and bool(usual) and usual[0].better == "lower"
    return (usual[0] if latency else usual[-1]) if usual else None


def _first_result(run: Run, benchmark: str) -> list[Summary]:
    """Return the values of a benchmark's first metric that is a result, in reading order."""
    shown = results(run, benchmark)
    measured = {case.metric for case in shown}
    first = next((name for name in run.benchmarks[benchmark].metric if name in measured), None)
    return sorted((case for case in shown if case.metric == first), key=case_key)


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
    largest = max(case.median or 0.0 for case in group)
    for summary in group:
        chosen = factors(summary)
        differing = [label(catalog, summary.benchmark, name, chosen[name]) for name in names if name in chosen]
        words = same if alone else ", ".join(differing)
        value = f"{units.interval(summary.median, summary.ci_low, summary.ci_high, summary.unit)} {mark(summary)}"
        line = Text(f"  {words:<{_LABEL_COLUMNS - 2}}  {value.rstrip():<{_FIGURE_COLUMNS}}")
        if not alone:
            share = (summary.median or 0.0) / largest if largest > 0 else 0.0
            line.append(bar(share, _BAR_COLUMNS, blocks), style="cyan")
        line.rstrip()
        yield line
