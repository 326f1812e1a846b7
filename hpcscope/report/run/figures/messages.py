"""The two figures on the first screen: latency and bandwidth by message size on every layer."""

from collections import defaultdict
from collections.abc import Iterator

from hpcscope.catalog.benchmark import Pattern
from hpcscope.catalog.catalog import Standing
from hpcscope.findings.results import Run
from hpcscope.plan.case import transport_words
from hpcscope.report.figure import Figure, Plot, Table, extent, log_axis, origins, shown, size_axis
from hpcscope.report.run.figures.curves import limit_line, points_and_band
from hpcscope.report.run.figures.grouping import FEWEST_POINTS
from hpcscope.report.run.results import results
from hpcscope.report.wording import LAYERS, figure_heading, points_shown
from hpcscope.statistics.summary import Summary

MOST_LINES = 6
_LAYERS = ("mpi", "frames", "network")
"""The MPI library comes first, because programs use it."""


def figures(run: Run) -> Iterator[Figure]:
    """Yield latency and bandwidth by message size: the network, the library and the limit."""
    for title, unit, metric, patterns in (
        ("Latency", "s", "latency_s", ("ping_pong",)),
        ("Bandwidth", "B/s", "bandwidth_bytes_per_s", ("stream", "ping_pong")),
    ):
        lines: dict[str, list[Summary]] = {}
        pattern: Pattern
        for pattern in patterns:  # type: ignore[assignment]
            cases = _lines(run, pattern, unit)
            lines = lines or (cases if any(name.startswith(LAYERS["mpi"]) for name in cases) else {})
        if lines:
            yield _figure(run, lines, title, unit, metric)


def _lines(run: Run, pattern: Pattern, unit: str) -> dict[str, list[Summary]]:
    """Return the lines by name, grouped by layer with the longest lines first; each line is sorted by size."""
    found: dict[str, dict[str, list[Summary]]] = {layer: defaultdict(list) for layer in _LAYERS}
    taken: set[object] = set()
    for layer in _LAYERS:
        for place in run.benchmarks.standing(pattern, layer):
            for case in results(run, place.benchmark.name):
                if (
                    case.unit == unit
                    and case.ranks == 2
                    and place.holds(case.parameters)
                    and case.key not in taken
                ):
                    taken.add(case.key)
                    found[layer][_name(run, place, case)].append(case)
    ordered = [
        (name, sorted(line, key=run.measurements.size))
        for layer in _LAYERS
        for name, line in sorted(found[layer].items(), key=lambda item: -len(item[1]))
        if len(line) >= FEWEST_POINTS
    ]
    return dict(ordered[:MOST_LINES])


def _name(run: Run, place: Standing, case: Summary) -> str:
    sizes = run.benchmarks.of_role(case.benchmark, case.parameters, "size")
    kept = {name: value for name, value in case.parameters.items() if name not in sizes}
    words = run.benchmarks.differences(case.benchmark, kept)
    if place.rung.layer == "mpi":
        words = [LAYERS["mpi"], *words]
        words += [f"over {transport_words(case.transport)}"] if case.transport != "default" else []
    else:
        words = [*words, "without MPI"]
    return ", ".join([" ".join(words), *case.placement.words])


def _figure(run: Run, lines: dict[str, list[Summary]], title: str, unit: str, metric: str) -> Figure:
    group = [case for line in lines.values() for case in line]
    xs = [float(run.measurements.size(case)) for case in group]
    traces: list[Plot] = []
    for slot, (name, line) in enumerate(lines.items()):
        variable = next(iter(run.benchmarks.of_role(line[0].benchmark, line[0].parameters, "size")))
        traces += points_and_band(line, variable, xs, slot, name, [], True)
    drawn = {str(value) for case in group for value in case.parameters.values()}
    limits = [
        limit_line(line, xs) for line in run.models.limits if line.metric == metric and drawn & set(line.protocols)
    ]
    traces += limits
    ys = [*extent(group), *(y for trace in limits for y in trace["y"])]
    return Figure(
        key=f"messages-{metric}",
        title=f"{title} of messages between two ranks",
        caption=f"{points_shown(group, bands=True)}." + (" The long-dashed line is the limit." if limits else ""),
        traces=traces,
        layout={"xaxis": size_axis("message size", xs), "yaxis": log_axis(title.lower(), ys, unit)},
        table=Table(
            ["series", "case", figure_heading(group)],
            [[name, case.label, shown(case)] for name, line in lines.items() for case in line],
        ),
        origins=origins(group),
    )
