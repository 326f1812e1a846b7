"""Two surfaces compared: B over A by message size and number of processes."""

from collections import defaultdict
from collections.abc import Hashable, Sequence

from hpcscope import units
from hpcscope.comparison.comparison import ComparedCase
from hpcscope.report.figure import Figure, Table
from hpcscope.report.run.figures.grouping import FEWEST_POINTS, swept
from hpcscope.report.run.figures.heat import cells
from hpcscope.report.run.figures.surfaces import places

_WRITTEN = 9
"""Up to this many sizes the cells contain the ratios."""


def surfaces(cases: Sequence[ComparedCase]) -> list[Figure]:
    """Return a figure for each variant of a benchmark that both runs swept over sizes and numbers of processes."""
    variable = swept(cases)
    if variable is None:
        return []
    variants: dict[Hashable, list[ComparedCase]] = defaultdict(list)
    for case in cases:
        if variable in case.parameters:
            others = {name: value for name, value in case.parameters.items() if name != variable}
            variants[case.metric, case.transport, tuple(sorted(others.items()))].append(case)
    figures = [_figure(variant, variable, number) for number, variant in enumerate(variants.values())]
    return [figure for figure in figures if figure is not None]


def _figure(variant: Sequence[ComparedCase], variable: str, number: int) -> Figure | None:
    grid = {(float(case.parameters[variable]), case.ranks): case for case in variant}
    sizes = sorted({size for size, _ in grid})
    counts = sorted({ranks for _, ranks in grid})
    if min(len(sizes), len(counts)) < FEWEST_POINTS or len(grid) < len(variant):
        return None
    rows = [[grid.get((size, ranks)) for size in sizes] for ranks in counts]
    by = units.named(variable)
    first = variant[0]
    return Figure(
        key=f"ratio-{first.benchmark}-surface-{number}",
        title=f"{first.label.partition(',')[0]}: B over A by {by} and number of processes",
        caption=f"{first.metric_words.capitalize()}: colors on a logarithmic scale. Intervals are in the table.",
        traces=[
            cells(
                range(len(sizes)),
                range(len(counts)),
                [[case.ratio if case else None for case in row] for row in rows],
                [[f"{case.label}: {_shown(case)}" if case else "" for case in row] for row in rows],
                [[f"{case.ratio:.2f}" if case and case.ratio else "" for case in row] for row in rows]
                if len(sizes) <= _WRITTEN
                else None,
                "",
            )
        ],
        layout={
            "height": max(260, 110 + 30 * len(counts)),
            "xaxis": places(by, range(len(sizes)), [units.parameter(variable, size) for size in sizes]),
            "yaxis": places("processes", range(len(counts)), [str(count) for count in counts]),
        },
        table=Table(
            ["processes", by, "B over A [95 %]"],
            [
                [str(ranks), units.parameter(variable, size), _shown(case)]
                for (size, ranks), case in sorted(grid.items(), key=lambda item: (item[0][1], item[0][0]))
            ],
        ),
        origins=sorted({origin for case in variant for origin in case.origins}),
    )


def _shown(case: ComparedCase) -> str:
    return units.interval(case.ratio, case.ratio_low, case.ratio_high, "")
