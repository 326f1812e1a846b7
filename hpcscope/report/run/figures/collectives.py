"""All collectives of the library beside each other."""

from __future__ import annotations

from collections.abc import Iterator

from hpcscope import units
from hpcscope.catalog.catalog import chosen
from hpcscope.findings.results import Run
from hpcscope.report.figure import DotPlot, Figure, Plot, log_axis, origins, size_axis, table
from hpcscope.report.run.figures.curves import points_and_band
from hpcscope.report.run.figures.grouping import FEWEST_POINTS, MOST_SERIES, spread
from hpcscope.report.run.figures.side_by_side import Rows, beside
from hpcscope.report.run.results import results
from hpcscope.report.wording import count, definition, points_shown, sentence
from hpcscope.statistics.summary import Summary

_PANELS = 3


def figures(run: Run) -> Iterator[Figure | DotPlot]:
    """Yield the times of all collectives on the most processes: by message size, and at a few sizes."""
    lines = _lines(run)
    if not lines:
        return
    group = [one for line in lines.values() for one in line]
    ranks = group[0].ranks
    long = dict(
        sorted(
            ((name, line) for name, line in lines.items() if len(line) >= FEWEST_POINTS),
            key=lambda item: -len(item[1]),
        )[:MOST_SERIES]
    )
    if long:
        yield _by_size(run, long, ranks)
    sizes = sorted({run.measurements.size(one) for one in group})
    common = [size for size in sizes if 2 * sum(run.measurements.size(one) == size for one in group) >= len(lines)]
    panels: list[Rows] = []
    for size in spread(common, _PANELS):
        rows = [
            (run.benchmarks[name].title, one)
            for name, line in lines.items()
            for one in line
            if run.measurements.size(one) == size
        ]
        panels.append((units.size(float(size)), sorted(rows, key=lambda row: row[1].median or 0.0)))
    if panels:
        yield beside(
            run,
            panels,
            key="collectives-compared",
            title=f"Collectives compared, {count(ranks, 'process', 'processes')}",
            caption=f"{points_shown(group)}, each size on its own axis; lower is better.",
            names=[],
        )


def _lines(run: Run) -> dict[str, list[Summary]]:
    """Return the plain cases of each collective with a size, on the most processes that most of them have."""
    found: dict[str, list[Summary]] = {}
    for benchmark in run.benchmarks:
        times = run.benchmarks.time_metric(benchmark.name)
        if benchmark.level != "mpi" or not benchmark.routines or times is None:
            continue
        if benchmark.metric[times].definition != "global":
            continue
        plain = [
            one
            for one in results(run, benchmark.name)
            if one.metric == times
            and one.transport == "default"
            and run.benchmarks.of_role(one.benchmark, one.parameters, "size")
            and chosen(benchmark, {}, one.parameters)
        ]
        if plain:
            found[benchmark.name] = plain
    counts = [one.ranks for line in found.values() for one in line]
    if not counts:
        return {}
    most = max(map(counts.count, counts))
    ranks = max(number for number in counts if 2 * counts.count(number) >= most)
    kept = {name: [one for one in line if one.ranks == ranks] for name, line in found.items()}
    return {
        name: sorted(_one_placement(line), key=lambda one: run.measurements.size(one))
        for name, line in kept.items()
        if line
    }


def _one_placement(line: list[Summary]) -> list[Summary]:
    first = min(one.placement for one in line)
    return [one for one in line if one.placement == first]


def _timed(group: list[Summary]) -> str:
    """Return the definition of the times in words."""
    definitions = list(dict.fromkeys(one.definition for one in group))
    if definitions == ["global"]:
        return "from the common start to the last exit"
    return sentence([definition(one) for one in definitions])


def _by_size(run: Run, lines: dict[str, list[Summary]], ranks: int) -> Figure:
    group = [one for line in lines.values() for one in line]
    xs = [float(run.measurements.size(one)) for one in group]
    traces: list[Plot] = []
    for slot, (name, line) in enumerate(lines.items()):
        variable = next(iter(run.benchmarks.of_role(name, line[0].parameters, "size")))
        traces += points_and_band(line, variable, xs, slot, run.benchmarks[name].title, [], True)
    ys = [value for one in group for value in (one.ci_low, one.ci_high, one.median) if value]
    variables = dict.fromkeys(
        name for one in group for name in run.benchmarks.of_role(one.benchmark, one.parameters, "size")
    )
    return Figure(
        key="collectives-by-size",
        title=f"Time of collectives, {count(ranks, 'process', 'processes')}",
        caption=f"{points_shown(group, _timed(group), bands=True)}; lower is better.",
        traces=traces,
        layout={"xaxis": size_axis("message size", xs), "yaxis": log_axis("time", ys, "s")},
        table=table(group, ["benchmark", *variables], run.benchmarks),
        origins=origins(group),
        wide=True,
    )
