"""Variants of a case side by side: send modes, definitions of time, single values."""

from collections.abc import Iterator, Sequence
from functools import partial

from hpcscope.catalog.benchmark import Value
from hpcscope.findings.results import Run
from hpcscope.plan.case import transport_words
from hpcscope.report.figure import DotPlot, Mark, Panel, label, origins, series_name, shown, table
from hpcscope.report.order import case_key, factors, level
from hpcscope.report.run.figures.grouping import series_factors, spread, swept, values
from hpcscope.report.run.figures.ranks import LEVELS
from hpcscope.report.run.results import choice_key, results
from hpcscope.report.wording import definition, points_shown
from hpcscope.statistics.summary import Summary

_PANELS = 4
_MOST_ROWS = 40
_HALF_ROWS = 6
"""Maximum number of rows at which a figure takes half of the page width."""
_FEWEST_CHOICES = 3

Row = tuple[str, Summary]
Rows = tuple[str, list[Row]]


def choices(run: Run, benchmark: str) -> Iterator[DotPlot]:
    """Yield the first metric of a benchmark by a parameter with three or more choices, at four sizes."""
    usable = results(run, benchmark)
    main = next((case.metric for case in usable), None)
    times = [case for case in usable if case.metric == main]
    variable = swept(times)
    if variable is None:
        return
    words = [name for name in series_factors(times, variable) if name in times[0].parameters]
    most = max(words, key=lambda name: len(values(times, name)), default=None)
    if (
        most is None
        or len(values(times, most)) < _FEWEST_CHOICES
        or isinstance(values(times, most)[0], int | float)
    ):
        return
    for transport in values(times, "transport"):
        group = [case for case in times if case.transport == transport]
        if len(values(group, most)) >= _FEWEST_CHOICES:
            yield _at_sizes(
                run,
                group,
                variable,
                f"{benchmark}-choices-{transport}",
                f"{_words(run, benchmark, most)} compared",
            )


def definitions(run: Run, benchmark: str) -> Iterator[DotPlot]:
    """Yield all definitions of time of a collective side by side, on the most ranks, at four sizes."""
    mine = [
        summary
        for summary in run.statistics
        if summary.benchmark == benchmark and summary.valid and summary.median
    ]
    times = [case for case in mine if case.unit == "s" and case.definition != "observed"]
    if len({case.definition for case in times}) < _FEWEST_CHOICES:
        return
    ranks = max(case.ranks for case in times)
    group = [case for case in times if case.ranks == ranks]
    first = sorted(group, key=case_key)[0]
    variable = swept(group)
    kept = {name: value for name, value in factors(first).items() if name != variable}
    group = [case for case in group if kept.items() <= factors(case).items()]
    sizes: list[Value | None] = list(spread(values(group, variable), _PANELS)) if variable else [None]
    panels: list[Rows] = []
    for size in sizes:
        rows = [
            (definition(case.definition) + (" (headline)" if case.primary else ""), case)
            for case in group
            if variable is None or case.parameters[variable] == size
        ]
        panels.append(
            ("" if size is None or variable is None else label(run.benchmarks, benchmark, variable, size), rows)
        )
    yield beside(
        run,
        panels,
        key=f"{benchmark}-definitions",
        title=f"Definitions of time, {ranks} ranks",
        caption="The same samples under every definition of time; Method explains the definitions.",
        names=[variable] if variable else [],
        with_definition=True,
    )


def singles(run: Run, benchmark: str) -> Iterator[DotPlot]:
    """Yield each metric of a benchmark that was not swept, a row for each case."""
    usable = results(run, benchmark)
    for name in dict.fromkeys(case.metric for case in usable):
        group = sorted((case for case in usable if case.metric == name), key=partial(choice_key, run.benchmarks))
        against_ranks = len(values(group, "ranks")) > 1 and group[0].unit == "s" and level(benchmark) in LEVELS
        alone = len(group) == 1 and any(definitions(run, benchmark))
        if swept(group) is not None or against_ranks or alone:
            continue
        names = series_factors(group, None)
        rows = [(series_name(case, names, run.benchmarks, benchmark), case) for case in group[:_MOST_ROWS]]
        better = "higher" if group[0].better == "higher" else "lower"
        yield beside(
            run,
            [("", rows)],
            key=f"{benchmark}-{name}",
            title=run.benchmarks.metric_label(name, benchmark).capitalize(),
            caption=f"{points_shown(group, definition(group[0].definition))}; {better} is better.",
            names=names,
            wide=len(rows) > _HALF_ROWS,
        )


def _at_sizes(run: Run, group: list[Summary], variable: str, key: str, what: str) -> DotPlot:
    names = series_factors(group, variable)
    ordered = sorted(sorted(group, key=case_key), key=partial(choice_key, run.benchmarks))
    panels: list[Rows] = []
    for size in spread(_common(group, variable), _PANELS):
        rows = [case for case in ordered if case.parameters[variable] == size]
        head = label(run.benchmarks, group[0].benchmark, variable, size)
        panels.append((head, [(series_name(case, names, run.benchmarks, ""), case) for case in rows]))
    transport = group[0].transport
    return beside(
        run,
        panels,
        key=key,
        title=what.capitalize() + ("" if transport == "default" else f", {transport_words(transport)}"),
        caption=f"{points_shown(group)}, each size on its own axis; "
        + ("" if any(case.printed for case in group) else "intervals that do not overlap show a difference; ")
        + f"{group[0].better} is better.",
        names=[*names, variable],
    )


def _common(group: list[Summary], variable: str) -> list[Value]:
    """Return the sizes at which the largest number of choices was measured."""
    counts = {size: sum(case.parameters[variable] == size for case in group) for size in values(group, variable)}
    most = max(counts.values())
    return [size for size, number_of in counts.items() if number_of == most]


def beside(
    run: Run,
    panels: Sequence[Rows],
    key: str,
    title: str,
    caption: str,
    names: Sequence[str],
    with_definition: bool = False,
    wide: bool = True,
) -> DotPlot:
    """Return panels of rows as one figure; `names` are the factors in its table."""
    summaries = [case for _, rows in panels for _, case in rows]
    return DotPlot(
        key=key,
        title=title,
        caption=caption,
        panels=[Panel(head, _marks(rows)) for head, rows in panels if rows],
        table=table(summaries, names, run.benchmarks, with_definition),
        origins=origins(summaries),
        wide=wide,
    )


def _marks(rows: Sequence[Row]) -> list[Mark]:
    widest = max(max(case.estimate.bounds) for _, case in rows) or 1.0
    return [Mark.of(name, shown(case), case.estimate.bounds, widest) for name, case in rows]


def _words(run: Run, benchmark: str, name: str) -> str:
    known = {"mode": "send modes", "blocks": "divisions into blocks", "call": "calls", "wait": "ways of waiting"}
    return known.get(name, run.benchmarks.parameter_label(name, benchmark) + "s")
