"""How times grow: medians with their intervals, and the laws through them."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hpcscope.programs.campaign.scaling import Law, curve
from hpcscope.report.figure import Figure, Plot, Table, count_axis, estimates, log_axis, scatter
from hpcscope.statistics.estimate import in_unit

STEPS = 60
SLOTS = {"wall_s": 7, "elapsed_s": 7, "compute_s": 0, "mpi_s": 1}
"""The style of each time."""


def charts(
    laws: Sequence[Law], named: Callable[[Law], str], names: dict[str, str], origin: str
) -> Iterator[Figure]:
    """Yield a figure for each factor and each choice of all others; `named` names the choice."""
    groups: dict[tuple[str, str], list[Law]] = {}
    for law in laws:
        groups.setdefault((law.variable, law.held.key), []).append(law)
    for number, group in enumerate(groups.values()):
        points = [(law, point) for law in group for point in law.points]
        times = [bound for _, point in points for bound in point.measured_s.bounds]
        across = "ranks" if group[0].variable == "ranks" else group[0].variable
        yield Figure(
            key=f"scaling-{number}",
            title=named(group[0]),
            caption="Medians with their intervals, and the laws through them.",
            traces=[trace for law in group for trace in _traces(law, names[law.feature])],
            layout={
                "xaxis": count_axis(across, [point.x for _, point in points]),
                "yaxis": log_axis("time", times, "s"),
            },
            table=Table(
                ["time", across, "measured [95 %]"],
                [[names[law.feature], f"{point.x:g}", in_unit(point.measured_s, "s")] for law, point in points],
            ),
            origins=[origin],
        )


def _traces(law: Law, name: str) -> Iterator[Plot]:
    slot, x = SLOTS[law.feature], [point.x for point in law.points]
    text = [f"{name}: {in_unit(point.measured_s, 's')} at {point.x:g}" for point in law.points]
    yield estimates(x, [point.measured_s for point in law.points], name, slot=slot, text=text)
    if not law.reason:
        fine = np.geomspace(x[0], x[-1], STEPS)
        fitted = [seconds if seconds > 0 else None for seconds in curve(law, fine).tolist()]
        yield scatter(fine.tolist(), fitted, role="fit", slot=slot, mode="lines")
