"""All collectives of the library side by side."""

from collections.abc import Iterator

from hpcscope import units
from hpcscope.catalog.catalog import chosen
from hpcscope.findings.results import Run
from hpcscope.report.figure import DotPlot, Figure, Plot, extent, log_axis, origins, size_axis, table
from hpcscope.report.run.figures.curves import points_and_band
from hpcscope.report.run.figures.grouping import FEWEST_POINTS, MOST_SERIES, spread
from hpcscope.report.run.figures.side_by_side import Rows, beside
from hpcscope.report.run.results import results
from hpcscope.report.wording import definition, points_shown, sentence
from hpcscope.statistics.summary import Summary

_PANELS = 3


def figures(run: Run) -> Iterator[Figure | DotPlot]:
    """Yield the times of all collectives on the most ranks: by message size, and at a few sizes."""
    lines = _lines(run)
    if not lines:
        return
    group = [case for line in lines.values() for case in line]
    ranks = group[0].ranks
    long = dict(
        sorted(
            ((name, line) for name, line in lines.items() if len(line) >= FEWEST_POINTS),
            key=lambda item: -len(item[1]),
        )[:MOST_SERIES]
    )
    if long:
        yield _by_size(run, long, ranks)
    sizes = sorted({run.measurements.size(case) for case in group})
    common = [
        size for size in sizes if 2 * sum(run.measurements.size(case) == size for case in group) >= len(lines)
    ]
    panels: list[Rows] = []
    for size in spread(common, _PANELS):
        rows = [
            (run.benchmarks[name].title, case)
            for name, line in lines.items()
            for case in line
            if run.measurements.size(case) == size
        ]
        panels.append((units.size(float(size)), sorted(rows, key=lambda row: row[1].median or 0.0)))
    if panels:
        yield beside(
            run,
            panels,
            key="collectives-compared",
            title=f"Collectives compared, {units.count(ranks, 'rank')}",
            caption=f"{points_shown(group)}, each size on its own axis; lower is better.",
            names=[],
        )


def _lines(run: Run) -> dict[str, list[Summary]]:
    """Return the default cases of each collective with a size, on the largest rank count that is common."""
    cases: dict[str, list[Summary]] = {}
    for benchmark in run.benchmarks:
        times = run.benchmarks.time_metric(benchmark.name)
        if benchmark.level != "mpi" or not benchmark.routines or times is None:
            continue
        if benchmark.metric[times].definition != "global":
            continue
        plain = [
            case
            for case in results(run, benchmark.name)
            if case.metric == times
            and case.transport == "default"
            and run.benchmarks.of_role(case.benchmark, case.parameters, "size")
            and chosen(benchmark, {}, case.parameters)
        ]
        if plain:
            cases[benchmark.name] = plain
    counts = [case.ranks for line in cases.values() for case in line]
    if not counts:
        return {}
    most = max(map(counts.count, counts))
    ranks = max(number for number in counts if 2 * counts.count(number) >= most)
    kept = {name: [case for case in line if case.ranks == ranks] for name, line in cases.items()}
    return {name: sorted(_one_placement(line), key=run.measurements.size) for name, line in kept.items() if line}


def _one_placement(line: list[Summary]) -> list[Summary]:
    first = min(case.placement for case in line)
    return [case for case in line if case.placement == first]


def _timed(group: list[Summary]) -> str:
    """Return the definition of the times in words."""
    definitions = list(dict.fromkeys(case.definition for case in group))
    if definitions == ["global"]:
        return "from the common start to the last exit"
    return sentence([definition(word) for word in definitions])


def _by_size(run: Run, lines: dict[str, list[Summary]], ranks: int) -> Figure:
    group = [case for line in lines.values() for case in line]
    xs = [float(run.measurements.size(case)) for case in group]
    traces: list[Plot] = []
    for slot, (name, line) in enumerate(lines.items()):
        variable = next(iter(run.benchmarks.of_role(name, line[0].parameters, "size")))
        traces += points_and_band(line, variable, xs, slot, run.benchmarks[name].title, [], True)
    variables = dict.fromkeys(
        name for case in group for name in run.benchmarks.of_role(case.benchmark, case.parameters, "size")
    )
    return Figure(
        key="collectives-by-size",
        title=f"Time of collectives, {units.count(ranks, 'rank')}",
        caption=f"{points_shown(group, _timed(group), bands=True)}; lower is better.",
        traces=traces,
        layout={"xaxis": size_axis("message size", xs), "yaxis": log_axis("time", extent(group), "s")},
        table=table(group, ["benchmark", *variables], run.benchmarks),
        origins=origins(group),
        wide=True,
    )
