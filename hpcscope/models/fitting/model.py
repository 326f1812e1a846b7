"""The type of a model, the search for models, and the choice among them by the data."""

import importlib
import pkgutil
from functools import cache
from typing import Protocol

from hpcscope import units
from hpcscope.models.fitting.curve import Curve, curves
from hpcscope.models.fitting.fit import Fit, FittedParameter, NotFitted
from hpcscope.models.fitting.least_squares import LinearFit
from hpcscope.models.fitting.misfit import WORST_ERROR, quarter_miss
from hpcscope.models.measurements import Measurements

_PACKAGES = ("hpcscope.models.communication", "hpcscope.models.computation")


class Model(Protocol):
    """A model, listed in the tuple `MODELS` of a file in one of `_PACKAGES`."""

    name: str
    equation: str
    source: str

    def fit(self, curve: Curve) -> Fit | NotFitted | None:
        """Return the fit, or why the curve cannot be fitted; None if the model does not apply to such curves."""


@cache
def all_models() -> tuple[Model, ...]:
    """Return every model, by walking the packages that hold them."""
    modules = [
        importlib.import_module(f"{package}.{info.name}")
        for package in _PACKAGES
        for info in pkgutil.iter_modules(importlib.import_module(package).__path__)
    ]
    return tuple(model for module in modules for model in getattr(module, "MODELS", ()))


def fit_all(measurements: Measurements) -> tuple[list[Fit], list[NotFitted]]:
    """Fit every model to every curve and let the data choose one for each curve."""
    fits: list[Fit] = []
    not_fitted: list[NotFitted] = []
    for curve in curves(measurements.summaries, measurements.catalog):
        results = [model.fit(curve) for model in all_models()]
        fits.extend(choose([result for result in results if isinstance(result, Fit)]))
        not_fitted.extend(result for result in results if isinstance(result, NotFitted))
    return fits, not_fitted


def choose(fits: list[Fit]) -> list[Fit]:
    """Mark the fit with the lowest BIC as chosen, best first; fits that already have a reason stay rejected."""
    admissible = sorted((fit for fit in fits if not fit.reason), key=lambda fit: fit.bic)
    refused = [fit for fit in fits if fit.reason]
    if not admissible:
        return refused
    best = admissible[0]
    if (miss := quarter_miss([point.fitted / point.measured - 1 for point in best.points])) > WORST_ERROR:
        why = f"no model describes the data: a quarter of the points are off by {units.percent(miss)} or more"
        return [fit.model_copy(update={"reason": why}) for fit in admissible] + refused
    losers = [
        fit.model_copy(update={"reason": f"its BIC is {fit.bic - best.bic:.1f} higher than that of {best.model}"})
        for fit in admissible[1:]
    ]
    return [best.model_copy(update={"chosen": True, "reason": _why_chosen(admissible)}), *losers, *refused]


def _why_chosen(admissible: list[Fit]) -> str:
    if len(admissible) == 1:
        return "the only model that could be fitted"
    margin = admissible[1].bic - admissible[0].bic
    text = f"lowest BIC, {margin:.1f} below {admissible[1].model}"
    return text if margin >= 2 else text + "; the data hardly distinguish these two"


def make_fit(
    model: Model,
    curve: Curve,
    linear: LinearFit,
    parameters: list[FittedParameter | None],
    reason: str = "",
    left_out: list[str] | None = None,
) -> Fit:
    """Build a fit; undetermined parameters are left out; `reason` rejects it."""
    return Fit(
        model=model.name,
        equation=model.equation,
        source=model.source,
        subject=curve.subject,
        metric=curve.metric,
        definition=curve.definition,
        variable=curve.variable,
        low=float(curve.x.min()),
        high=float(curve.x.max()),
        parameters=[parameter for parameter in parameters if parameter is not None],
        left_out=left_out or [],
        points=curve.points(linear.fitted_s),
        relative_error=linear.relative_error,
        bic=linear.bic,
        chosen=False,
        reason=reason,
    )
