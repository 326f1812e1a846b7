"""Fitted models as the report lists them: parameters with intervals, range, error, and reason for the choice."""

from collections.abc import Sequence
from dataclasses import dataclass

from hpcscope import units
from hpcscope.models.fitting.fit import Breakpoint, Fit, FittedParameter
from hpcscope.report.run.figures.residuals import subject
from hpcscope.report.wording import equation, model
from hpcscope.statistics.estimate import in_unit


@dataclass(frozen=True)
class ListedFit:
    """One fit, chosen or not, with what needs words."""

    fit: Fit
    case: str
    model: str
    equation: str
    range: str
    parameters: list[tuple[str, str]]
    breakpoints: list[str]
    notes: list[str]


def outcomes(fits: Sequence[Fit]) -> list[ListedFit]:
    """Return the fits in the order of the models file."""
    return [
        ListedFit(
            fit,
            case=subject(fit),
            model=model(fit.model),
            equation=equation(fit),
            range=_range(fit),
            parameters=[(_name(parameter.name), _parameter(parameter)) for parameter in fit.parameters]
            + _segments(fit),
            breakpoints=[
                f"between {units.size(step.last_before)} and {units.size(step.first_after)}: " + _kind(step)
                for step in fit.breakpoints
            ],
            notes=fit.notes,
        )
        for fit in fits
    ]


def _kind(point: Breakpoint) -> str:
    """Return what changes at a breakpoint, if the measured sizes can tell, and which settings switch there."""
    settings = ", ".join(f"{setting.name} = {setting.value}" for setting in point.settings)
    kind = f"a jump of {in_unit(point.jump_s, 's')}" if point.is_jump else "a change of slope"
    if not point.is_located:
        kind = "a jump or a change of slope; --refine measures more sizes here to decide"
    return kind + (f" ({settings})" if settings else "")


def _segments(fit: Fit) -> list[tuple[str, str]]:
    """Return the fitted line of each segment if there are several segments."""
    if len(fit.segments) < 2:
        return []
    return [
        (
            f"{units.size(segment.low)} to {units.size(segment.high)}",
            f"{_parameter(segment.latency_s)} + n × {_parameter(segment.per_byte_s)}",
        )
        for segment in fit.segments
    ]


def _range(fit: Fit) -> str:
    if fit.variable == "ranks":
        return f"{fit.low:g} to {fit.high:g} ranks"
    if fit.variable == "vector_length":
        return f"{fit.low:g} to {fit.high:g} elements"
    if fit.variable == "intensity":
        return f"{fit.low:g} to {fit.high:g} operations per word"
    sizes = f"{units.size(fit.low)} to {units.size(fit.high)}"
    if fit.variable == "message_bytes":
        return sizes
    return f"{sizes}, up to {fit.subject.ranks} ranks"


def _name(name: str) -> str:
    """Return the name without its unit, which follows the value."""
    words = units.without_unit(name).replace("_half", "_½")
    return words.replace("_s_per_byte", " per byte").replace("per_byte", "per byte")


def _parameter(parameter: FittedParameter) -> str:
    return in_unit(parameter, parameter.unit)
