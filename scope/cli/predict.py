"""`scope predict`: what an algorithm would take, beside what it took wherever it was measured."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from scope.models.fit import PredictedPoint, Prediction
    from scope.models.prediction.costs.steps import Problem
    from scope.report.run.contents import Contents
    from scope.samples.records import Value

MOST_COUNTS = 1024


def command(
    run: Annotated[Path, typer.Argument(help="Run directory, for example runs/latest.", show_default=False)],
    algorithm: Annotated[str, typer.Option(help="cannon, striped, strassen, sort or relaxation.")],
    size: Annotated[str, typer.Option(help="N of the matrix or grid, or elements to sort (8Mi).")],
    ranks: Annotated[str, typer.Option(help="Numbers of processes: 1..64 or 2,4,8.")] = "1..16",
    variant: Annotated[str | None, typer.Option(help="plain, transposed or tuned.")] = None,
    rows: Annotated[int, typer.Option(help="Rows of the grid; 0: as square as the number allows.")] = 0,
    transport: Annotated[str, typer.Option(help="default or tcp.")] = "default",
    choose: Annotated[
        list[str] | None, typer.Option("--with", metavar="KEY=VALUE", help="Another parameter: iterations=1000.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Objects instead of tables.")] = False,
) -> None:
    """Predict an algorithm from lower levels of a run, and hold that against every point that was measured.

    The computation is that of one process, messages cost what the ping-pong says. No prediction without a measured
    point on several processes to validate it.
    """
    from scope.errors import UsageError
    from scope.report.run import contents as run_contents
    from scope.report.run import prediction_table
    from scope.report.terminal.console import console

    contents = run_contents.read(run)
    benchmark = named(algorithm)
    given = given_parameters(choose or [], variant)
    validation = validation_of(contents, benchmark, given, transport, run)
    parameters = validation.subject.parameters | ({"rows": rows} if rows else {})
    wanted = problems(size, ranks, parameters)
    most = max(point.ranks for point in validation.points if point.error is not None)
    points = [further(point, most) for point in predicted(contents, benchmark, transport, wanted)]
    if not points:
        raise UsageError(f"--ranks {ranks}: {algorithm} cannot run on any of these")
    if json:
        _print_json(validation, points)
        return
    console().print(prediction_table.predicted(validation, points))
    console().print(prediction_table.validated(validation))


def named(algorithm: str) -> str:
    """Return the benchmark of an algorithm by its short or its whole name."""
    from scope.errors import UsageError
    from scope.models.prediction.prediction import all_costs

    known = {costs.name: costs.benchmark for costs in all_costs().values()}
    if algorithm in known.values():
        return algorithm
    if algorithm not in known:
        raise UsageError(f"--algorithm {algorithm}: must be one of {', '.join(sorted(known))}")
    return known[algorithm]


def given_parameters(words: list[str], variant: str | None) -> dict[str, str]:
    """Read what was chosen; raises UsageError for a word that is no `key=value`."""
    from scope.errors import UsageError

    given = {"variant": variant} if variant else {}
    for word in words:
        key, _, value = word.partition("=")
        if not key or not value:
            raise UsageError(f"--with {word}: must be key=value, for example iterations=1000")
        given[key] = value
    return given


def validation_of(
    contents: Contents, benchmark: str, given: dict[str, str], transport: str, run: Path
) -> Prediction:
    """Return the validation of what is asked for; UsageError where nothing measured can validate it.

    Of several kinds that fit, the benchmark's defaults are meant.
    """
    from scope.errors import UsageError

    mine = [
        one
        for one in contents.models.predictions
        if one.subject.benchmark == benchmark and one.subject.transport == transport
    ]
    fitting = [one for one in mine if all(str(one.subject.parameters.get(k)) == v for k, v in given.items())]
    held = [one for one in fitting if one.median_error is not None]
    if not held:
        words = " ".join([benchmark, *(f"{key}={value}" for key, value in given.items())])
        reason = next((f" ({one.reason})" for one in fitting if one.reason), "")
        raise UsageError(
            f"{run}: no measured point to validate {words} against{reason}: "
            f"run `scope run mpi.latency {benchmark}` first, on one process and on several"
        )
    defaults = _defaults(contents, benchmark)
    return max(held, key=lambda one: sum(defaults.get(k) == v for k, v in one.subject.parameters.items()))


def _defaults(contents: Contents, benchmark: str) -> dict[str, Value]:
    known = contents.benchmarks.get(benchmark)
    return {one.name: one.default for one in known.parameters} if known else {}


def problems(size: str, ranks: str, parameters: dict[str, Value]) -> list[Problem]:
    """Return what is to be predicted, one for each number of processes."""
    from scope.errors import UsageError
    from scope.models.prediction.costs.steps import Problem
    from scope.plan.sweep import integer

    try:
        elements = integer(size)
    except ValueError:
        raise UsageError(f"--size {size}: must be an integer; Ki, Mi and Gi may follow") from None
    if elements < 1:
        raise UsageError(f"--size {size}: must be at least 1")
    return [Problem(elements, count, parameters) for count in counts(ranks)]


def counts(text: str) -> list[int]:
    """Read `1..64` or `2,4,8`; raises UsageError for anything else."""
    from scope.errors import UsageError
    from scope.plan.sweep import integer

    found: list[int] = []
    for word in text.split(","):
        first, dots, last = word.partition("..")
        try:
            low = integer(first)
            high = integer(last) if dots else low
        except ValueError:
            low, high = 0, 0
        if not 1 <= low <= high or high - low >= MOST_COUNTS:
            raise UsageError(f"--ranks {text}: must be numbers such as 2,4,8 or a range such as 1..64")
        found += range(low, high + 1)
    return list(dict.fromkeys(found))


def predicted(
    contents: Contents, benchmark: str, transport: str, wanted: Iterable[Problem]
) -> list[PredictedPoint]:
    """Predict what can run: a number of processes that the algorithm cannot use is passed over."""
    from scope.errors import UsageError
    from scope.models.prediction.measured_costs import NotMeasuredError
    from scope.models.prediction.prediction import Predictor, all_costs
    from scope.samples.reader import read as read_samples

    costs = all_costs()[benchmark]
    launches = read_samples(contents.directory.path).launches
    predictor = Predictor(costs, contents.summaries, contents.machine, launches, transport)
    try:
        return [predictor.point(problem) for problem in wanted if not costs.refuses(problem)]
    except NotMeasuredError as error:
        raise UsageError(f"{contents.directory.path}: {error}") from error


def further(point: PredictedPoint, most: int) -> PredictedPoint:
    """Say of a prediction that it is for more processes than any that was measured."""
    if point.ranks <= most:
        return point
    return point.model_copy(update={"beyond": [f"more than the {most} ranks that were validated", *point.beyond]})


def _print_json(validation: Prediction, points: list[PredictedPoint]) -> None:
    import json

    answer: dict[str, Any] = {
        "algorithm": validation.subject.benchmark,
        "parameters": validation.subject.parameters,
        "source": validation.source,
        "parameters_from": validation.parameters_from,
        "origin": validation.origin,
        "predicted": [point.model_dump() for point in points],
        "validation": [point.model_dump() for point in validation.points],
        "median_error": validation.median_error,
    }
    typer.echo(json.dumps(answer, indent=1, ensure_ascii=False))
