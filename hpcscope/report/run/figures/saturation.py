"""File bandwidth over the number of ranks that access files, with the fitted law."""

from collections.abc import Iterator

import numpy as np

from hpcscope import units
from hpcscope.findings.results import Run
from hpcscope.grouping import grouped
from hpcscope.models.scaling.saturation import Saturation
from hpcscope.report.figure import Figure, Plot, Table, log_axis, modeled, ranks_axis, with_intervals
from hpcscope.report.run.figures.grouping import MOST_SERIES, chosen_words
from hpcscope.statistics.estimate import in_unit

COLUMNS = ["case", "one rank", "saturated", "reaches 90 % on", "remarks"]


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield a benchmark's ways to access files, the ways with the most rank counts first."""
    mine = [saturation for saturation in run.models.saturations if saturation.subject.benchmark == benchmark]
    for origin, group in grouped(mine, lambda saturation: saturation.origin).items():
        ordered = sorted(group, key=lambda saturation: -len(saturation.points))
        rates = [point.bytes_per_s.value for saturation in ordered for point in saturation.points]
        counts = sorted({point.ranks for saturation in ordered for point in saturation.points})
        drawn = ordered[:MOST_SERIES]
        yield Figure(
            key=f"{benchmark}-saturation-{origin}",
            title=f"{run.benchmarks[benchmark].title}: bandwidth over ranks",
            caption=(
                "All ranks together. Lines: B(p) = p n / (c + p s) for p ranks that move n bytes each; c is each "
                "rank's own time, s the time of the shared part."
            ),
            traces=[trace for slot, saturation in enumerate(drawn) for trace in _traces(run, saturation, slot)],
            layout={"xaxis": ranks_axis(counts), "yaxis": log_axis("bandwidth", rates, "B/s")},
            table=Table(COLUMNS, [_row(saturation) for saturation in ordered]),
            origins=[origin],
        )


def _traces(run: Run, saturation: Saturation, slot: int) -> Iterator[Plot]:
    points = saturation.points
    rates = [(point.ranks, point.bytes_per_s) for point in points]
    yield with_intervals(
        ((ranks, rate, f"{ranks} ranks: {units.quantity(rate.value, 'B/s')}") for ranks, rate in rates),
        chosen_words(saturation.subject, run.benchmarks, ("ranks",)) or "measured",
        slot,
        joined=saturation.alone_bytes_per_s is None,
    )
    if saturation.alone_bytes_per_s and saturation.saturated_bytes_per_s:
        shared = 1 / saturation.saturated_bytes_per_s.value
        own = max(1 / saturation.alone_bytes_per_s.value - shared, 0.0)
        counts = np.linspace(points[0].ranks, points[-1].ranks, 60).tolist()
        yield modeled(counts, [n / (own + n * shared) for n in counts], slot)


def _row(saturation: Saturation) -> list[str]:
    enough = saturation.enough_ranks
    return [
        saturation.subject.label,
        in_unit(saturation.alone_bytes_per_s, "B/s"),
        in_unit(saturation.saturated_bytes_per_s, "B/s"),
        f"{enough.value:.0f} [{enough.low:.0f}, {enough.high:.0f}]"
        if enough and enough.low and enough.high
        else "–",
        saturation.reason,
    ]
