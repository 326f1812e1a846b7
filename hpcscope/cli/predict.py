"""`scope predict`: the predicted time of an algorithm, and the error of such predictions."""

from __future__ import annotations

from typing import Annotated

import typer

from hpcscope.cli.options import Json, RunFolder
from hpcscope.cli.output import attributes, print_json
from hpcscope.cli.settings import Given, takes
from hpcscope.errors import UsageError
from hpcscope.settings.simulation import PredictionSettings
from hpcscope.settings.table import declared


@takes(given=declared(PredictionSettings))
def command(
    run: RunFolder,
    algorithm: Annotated[
        str,
        typer.Option(help="A program with a cost model, such as cannon, or a benchmark that declares its costs."),
    ],
    n: Annotated[
        str, typer.Option("--n", help="Order of the matrix or grid, number of keys (8Mi), or truncation (T42).")
    ],
    variant: Annotated[str | None, typer.Option(help="Variant: plain, transposed, overlapped or tuned.")] = None,
    *,
    given: Given,
    choose: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="KEY=VALUE", help="Another parameter: iterations=1000; may be repeated."),
    ] = None,
    json: Json = False,
) -> None:
    """Predict an algorithm's time from a run's message times and one-rank rates, and validate the prediction.

    Computation is scaled from one rank; messages, halo exchanges and collectives take the times that the run
    measured. A prediction needs at least one point measured on several ranks to validate it.
    """
    from hpcscope.engine import predict

    options = predict.PredictOptions(
        algorithm=algorithm, n=n, **given, parameters=_parameters(choose or [], variant)
    )
    predicted = predict.predict(run, options)
    if json:
        validation = predicted.validation
        print_json(
            {
                "algorithm": validation.subject.benchmark,
                "parameters": validation.subject.parameters,
                **attributes(validation, "source", "parameters_from", "origin"),
                "predicted": [point.model_dump() for point in predicted.points],
                "best_grids": [best.model_dump() for best in predicted.best_grids],
                "validation": [point.model_dump() for point in validation.points],
                "median_error": validation.median_error,
            }
        )
        return
    from hpcscope.report.terminal import prediction
    from hpcscope.report.terminal.console import console, draws

    screen = console()
    blocks = draws(screen.file)
    screen.print(
        prediction.predicted(predicted.validation, predicted.points, predicted.size, predicted.steps, blocks)
    )
    if predicted.best_grids:
        screen.print(prediction.recommended(predicted.best_grids, predicted.validation))
    screen.print(prediction.validated(predicted.validation))


def _parameters(words: list[str], variant: str | None) -> dict[str, str]:
    """Read the parameters; UsageError for a word that is not `key=value`."""
    given = {"variant": variant} if variant else {}
    for word in words:
        key, _, value = word.partition("=")
        if not key or not value:
            raise UsageError(f"--with {word}: must be key=value, for example iterations=1000")
        given[key] = value
    return given
