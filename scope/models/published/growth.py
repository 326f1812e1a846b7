"""Scaling of collectives with the processes: the published law beside the model chosen here."""

from __future__ import annotations

from scope.models.fitting.fit import Fit
from scope.models.published.reference import Growth, Reference
from scope.models.published.reproduction import Holds, Row
from scope.samples.records import Origin

LAWS = {
    "linear_collective": "linear",
    "logarithmic_collective": "logarithmic",
    "logarithmic_reduce": "logarithmic",
}
STEPS, STEP = "logarithmic_collective", "t_s_s"
"""The model of the barrier (equation 6.15) and its cost of one step."""
LAWS |= {"linear_broadcast": "linear", "logarithmic_broadcast": "logarithmic"}


def rows(reference: Reference, fits: list[Fit], origin: Origin) -> list[Row]:
    """Return, for each collective and message, how much longer all processes take than half of them.

    The sources print a law, and for some the cost of one of its steps: that alone is published.
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
    return [
        row
        for fit in (*chosen, *undecided.values())
        for row in (_ratio(growth, fit, origin), *_step(growth, fit, found, origin))
    ]


def _case(fit: Fit) -> str:
    return f"{fit.subject.benchmark} {sorted(fit.subject.parameters.items())}"


def _step(growth: Growth, fit: Fit, found: list[Fit], origin: Origin) -> list[Row]:
    """Return the cost of one logarithmic step beside the printed one, by the model of its equation."""
    if growth.step_s is None:
        return []
    logarithmic = next((one for one in found if one.model == STEPS and _case(one) == _case(fit)), None)
    fitted = next((one for one in logarithmic.parameters if one.name == STEP), None) if logarithmic else None
    return [
        Row(
            row=f"{growth.words}: cost of one step",
            published=growth.step_s,
            predicted=None,
            measured=fitted.value if fitted else None,
            unit="s",
            limit=None,
            origin=origin,
            size=int(fit.subject.parameters.get("message_bytes", 0)),
            ranks=int(max(point.x for point in fit.points)),
            remark=logarithmic.equation if logarithmic else "no logarithmic law was fitted here",
        )
    ]


def _ratio(growth: Growth, fit: Fit, origin: Origin) -> Row:
    points = sorted(fit.points, key=lambda point: point.x)
    last = points[-1]
    half = min(points, key=lambda point: abs(point.x - last.x / 2))
    most, fewer = int(last.x), int(half.x)
    chosen = LAWS.get(fit.model, fit.model) if fit.chosen else "none"
    holds: Holds = "yes" if chosen == growth.law else "no" if fit.chosen else "undecided"
    agrees = "as published" if chosen == growth.law else f"published: {growth.law}"
    if not fit.chosen:
        agrees += f" ({LAWS.get(fit.model, fit.model)}: {fit.reason})"
    size = int(fit.subject.parameters.get("message_bytes", 0))
    message = f", {size} B" if size else ""
    return Row(
        row=f"{growth.words}{message}: {most} over {fewer} processes",
        published=None,
        predicted=last.fitted / half.fitted if fit.chosen else None,
        measured=last.measured / half.measured,
        unit="1",
        limit=None,
        origin=origin,
        size=size,
        ranks=most,
        remark=f"chosen: {chosen} in the processes, {agrees}",
        says=f"grows as a {growth.law} law",
        relation=f"{growth.law} in the processes",
        holds=holds,
    )
