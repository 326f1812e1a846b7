"""Distributions of the samples by launch, for cases that the median alone does not describe."""

from collections.abc import Callable, Iterator

import numpy as np

from hpcscope import units
from hpcscope.findings.results import Run
from hpcscope.report.figure import Figure, Plot, Table, log_axis, scatter
from hpcscope.samples.samples import CaseSamples, Floats
from hpcscope.statistics.summary import Summary
from hpcscope.statistics.values import seconds_behind

_STEPS = 160
"""Maximum number of points in a curve, more than a screen resolves."""

Reason = tuple[str, int, Callable[[Summary], float]]
_REASONS: list[Reason] = [
    ("its interval is the widest", 2, lambda case: case.relative_interval or 0.0),
    ("its launches differ the most", 2, lambda case: case.between_launch_share or 0.0),
]
_FROM_LADDER = 3
_FEWEST_SAMPLES = 10
"""Minimum number of samples in a distribution."""


def figures(run: Run) -> Iterator[Figure]:
    """Yield the distribution of each selected case, one curve for each launch."""
    cases = run.raw_samples.by_case()
    for index, (summary, reason) in enumerate(selected(run)):
        found = [(case.launch, _times(case, summary)) for case in cases.get(summary.samples_key, [])]
        launches = [(launch, times) for launch, times in found if times is not None]
        if launches:
            yield _figure(summary, reason, launches, f"distribution-{index}")


def selected(run: Run) -> list[tuple[Summary, str]]:
    """Choose cases by their statistics, each once, with the reason."""
    times = [
        case
        for case in run.statistics.primary
        if case.valid and case.unit == "s" and case.definition != "observed" and case.n >= _FEWEST_SAMPLES
    ]
    rungs = {rung.name for ladder in run.models.ladders for rung in ladder.rungs}
    chosen: dict[str, tuple[Summary, str]] = {}
    for summary in times:
        if summary.label in rungs and len(chosen) < _FROM_LADDER:
            chosen.setdefault(summary.label, (summary, "the ladder contains it"))
    for reason, most, rank in _REASONS:
        left = [case for case in times if case.label not in chosen and rank(case) > 0]
        for summary in sorted(left, key=rank, reverse=True)[:most]:
            chosen[summary.label] = (summary, reason)
    return list(chosen.values())


def _times(case: CaseSamples, summary: Summary) -> Floats | None:
    times = seconds_behind(summary, case)
    return np.sort(times) if times is not None and times.size else None


def _figure(summary: Summary, reason: str, launches: list[tuple[int, Floats]], key: str) -> Figure:
    right = summary.p99 if summary.p99 is not None else max(float(times[-1]) for _, times in launches)
    left = min(float(times[0]) for _, times in launches)
    return Figure(
        key=key,
        title=summary.label,
        caption=f"Shown because {reason}.",
        traces=[_line(slot, launch, times) for slot, (launch, times) in enumerate(launches)],
        layout={
            "xaxis": log_axis("time", [left, max(right, left)], "s", margin=1.0),
            "yaxis": {"title": {"text": "fraction of the samples"}, "tickformat": ".0%", "range": [0, 1.02]},
            "showlegend": False,
        },
        table=Table(
            ["launch", "samples", "minimum", "median", "99 %", "maximum"],
            [_row(launch, times) for launch, times in launches],
        ),
        origins=[summary.origin],
    )


def _line(slot: int, launch: int, times: Floats) -> Plot:
    chosen = np.unique(np.linspace(0, times.size - 1, min(times.size, _STEPS)).round().astype(int))
    return scatter(
        [times[0], *times[chosen]],
        [0.0, *((chosen + 1) / times.size)],
        f"launch {launch}",
        role="ecdf",
        slot=slot,
        mode="lines",
        hover=f"launch {launch}" + ": %{y:.0%}",
        line={"shape": "hv"},
    )


def _row(launch: int, times: Floats) -> list[str]:
    quantiles = np.quantile(times, [0.0, 0.5, 0.99, 1.0])
    return [str(launch), str(times.size), *(units.quantity(float(value), "s") for value in quantiles)]
