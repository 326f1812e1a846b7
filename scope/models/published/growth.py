"""Scaling of collectives with the processes: the published law beside the model chosen here."""

from __future__ import annotations

from scope.models.fitting.fit import Fit
from scope.models.published.reference import Growth, Reference
from scope.models.published.reproduction import Row
from scope.samples.records import Origin

LAWS = {
    "linear_collective": "linear",
    "logarithmic_collective": "logarithmic",
    "logarithmic_reduce": "logarithmic",
}
LAWS |= {"linear_broadcast": "linear", "logarithmic_broadcast": "logarithmic"}


def rows(reference: Reference, fits: list[Fit], origin: Origin) -> list[Row]:
    """Return, for each collective and message, how much longer all processes take than half of them.

    The published figure follows from its law alone: (p - 1) successive messages, or ceil(log2 p) steps.
    """
    return [row for growth in reference.growth for row in _rows(growth, fits, origin)]


def _rows(growth: Growth, fits: list[Fit], origin: Origin) -> list[Row]:
    found = [
        fit
        for fit in fits
        if fit.subject.benchmark == growth.benchmark
        and fit.subject.transport == growth.transport
        and fit.variable == "ranks"
        and growth.parameters.items() <= fit.subject.parameters.items()
    ]
    chosen = [fit for fit in found if fit.chosen]
    # Where no law fits, the figures are shown nevertheless; any fit has the points.
    undecided = {_case(fit): fit for fit in found if _case(fit) not in map(_case, chosen)}
    return [_row(growth, fit, origin) for fit in (*chosen, *undecided.values())]


def _case(fit: Fit) -> str:
    return f"{fit.subject.benchmark} {sorted(fit.subject.parameters.items())}"


def _row(growth: Growth, fit: Fit, origin: Origin) -> Row:
    points = sorted(fit.points, key=lambda point: point.x)
    last = points[-1]
    half = min(points, key=lambda point: abs(point.x - last.x / 2))
    most, fewer = int(last.x), int(half.x)
    chosen = LAWS.get(fit.model, fit.model) if fit.chosen else "none"
    agrees = "as published" if chosen == growth.law else f"published: {growth.law}"
    if not fit.chosen:
        agrees += f" ({LAWS.get(fit.model, fit.model)}: {fit.reason})"
    size = int(fit.subject.parameters.get("message_bytes", 0))
    message = f", {size} B" if size else ""
    return Row(
        row=f"{growth.words}{message}: {most} over {fewer} processes",
        published=_steps(growth.law, most) / _steps(growth.law, fewer),
        predicted=last.fitted / half.fitted if fit.chosen else None,
        measured=last.measured / half.measured,
        unit="1",
        limit=None,
        origin=origin,
        size=size,
        ranks=most,
        remark=f"chosen: {chosen} in the processes, {agrees}",
    )


def _steps(law: str, ranks: int) -> int:
    return ranks - 1 if law == "linear" else (ranks - 1).bit_length()
