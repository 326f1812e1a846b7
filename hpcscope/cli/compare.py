"""`scope compare`: two runs or more, case by case; or two sides that are measured interleaved."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcscope.cli.options import Json
from hpcscope.cli.output import display, print_json, written
from hpcscope.cli.settings import Given, takes
from hpcscope.errors import UsageError
from hpcscope.settings.comparing import ComparisonSettings
from hpcscope.settings.kinds import Share
from hpcscope.settings.table import declared

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hpcscope.comparison.efficiency import Efficiencies
    from hpcscope.comparison.side_by_side import SideBySide
    from hpcscope.strict import Strict


@takes(options=declared(ComparisonSettings))
def command(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="A B [C]...",
            help="Run directories: two (before, after) or more. With --measure: two runs, experiments "
            "(.toml), MPIs or native programs. A FRACTION may follow --fail-on-regression.",
            show_default=False,
        ),
    ],
    *,
    options: Given,
    across_machines: Annotated[
        bool,
        typer.Option("--across-machines", help="Compare runs of different machines; list what differs."),
    ] = False,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Measure both sides interleaved, A B B A, until every case is decided."),
    ] = False,
    confirm: Annotated[
        bool,
        typer.Option("--confirm", help="Remeasure worse cases, interleaved; report only confirmed changes."),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Benchmarks for --measure: mpi.latency, 'mpi.*'; may be repeated."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Directory for --measure or --confirm; default: new, in runs/."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every case, even if it did not change.")] = False,
    json: Json = False,
    efficiency: Annotated[
        bool, typer.Option("--efficiency", help="Compare the fractions of peak that benchmarks reach.")
    ] = False,
    normalized: Annotated[
        bool,
        typer.Option("--normalized", help="Divide each case of B by the same case of A with default parameters."),
    ] = False,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Run with which all other runs are compared; default: the first."),
    ] = None,
    published: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MACHINE",
            help="Also show the published values of a historic machine (scope repository published).",
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write an offline HTML page.")] = None,
    fail_on_regression: Annotated[
        bool,
        typer.Option(
            "--fail-on-regression",
            help="[FRACTION]  Exit with 1 if a case is worse (by more than FRACTION, such as 5%).",
        ),
    ] = False,
) -> None:
    """Compare two runs: print for each case the change from A to B with its 95 % CI, and a verdict.

    Three or more runs are listed side by side, each compared with the first run or with --baseline.

    With --measure both sides are measured now, interleaved. Interleaved launches detect smaller changes, because a
    disturbance of the machine affects both sides alike.
    """
    from hpcscope.comparison.compare import compare

    given, beyond = _split_share(runs, fail_on_regression, 1 if published else 2)
    asked = ComparisonSettings(**options)
    if len(given) > 2 or published:
        if measure or confirm or normalized:
            what = "--published" if published else f"{len(given)} runs given"
            raise UsageError(f"{what}: --measure, --confirm and --normalized compare exactly two runs")
        _refuse_unmeasured(measure or confirm, options, only, output)
        found = _side_by_side(given, baseline, asked.threshold, across_machines, efficiency, html, published or [])
        _print_side_by_side(*found, every, json)
        if fail_on_regression and found[0].regressions(beyond):
            raise SystemExit(1)
        return
    if baseline is not None:
        raise UsageError("--baseline: only valid with three or more runs; B is always compared with A")
    paths = (given[0], given[1])
    _refuse_unmeasured(measure or confirm, options, only, output)
    benchmarks = {"only": only} if only else {}
    if confirm and (packed := next((path for path in paths if path.is_file()), None)):
        raise UsageError(f"--confirm {packed}: must be a run directory; programs in packed runs are not started")
    if normalized:
        if measure or confirm or efficiency or across_machines or fail_on_regression or html is not None:
            raise UsageError("--normalized: must not be combined with other comparisons, failure rules or --html")
        from hpcscope.comparison import normalized as dividing
        from hpcscope.comparison.normalized_table import table as normalized_table

        with _folders(paths) as folders:
            divided = dividing.normalized(*folders)
        _print(divided, json, partial(normalized_table, divided))
        return
    if measure:
        if efficiency or confirm or html is not None or across_machines:
            raise UsageError(
                "--measure: must not be combined with --confirm, --efficiency, --html, --across-machines"
            )
        failed = _measured(paths, benchmarks, output, asked, beyond, json)
        raise SystemExit(1 if fail_on_regression and failed else 0)
    a, b = map(str, paths)
    with _folders(paths) as folders:
        shares = _efficiencies(folders, [a, b]) if efficiency else None
        if shares is not None and html is None and not fail_on_regression:
            _print_efficiencies(shares, json)
            return
        comparison = compare(folders[0], folders[1], threshold=asked.threshold, across_machines=across_machines)
    comparison = comparison.model_copy(update={"a": a, "b": b})
    if confirm:
        from hpcscope.cli.progress import stage_progress
        from hpcscope.engine.compare import compare as interleaved

        with stage_progress() as stage:
            comparison = interleaved.confirm(
                comparison,
                benchmarks,
                interleaved.Kept(output, sys.argv),
                asked.time_s,
                stage,
                partial(typer.echo, err=True),
            )
    if html is not None:
        from hpcscope.report.comparison.page import render
        from hpcscope.rundirectory import write_text

        write_text(html, render(comparison, shares))
    if shares is not None:
        _print_efficiencies(shares, json)
    else:
        from hpcscope.comparison.table import table

        _print(comparison, json, partial(table, comparison, every))
    if fail_on_regression and comparison.regressions(beyond):
        raise SystemExit(1)


@contextmanager
def _folders(runs: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield the folders of runs; packed ones are unpacked as long as the context lasts."""
    from hpcscope.archive import packing

    with ExitStack() as opened:
        yield [opened.enter_context(packing.opened(run)) for run in runs]


def _side_by_side(
    runs: list[Path],
    baseline: Path | None,
    threshold: float,
    across_machines: bool,
    efficiency: bool,
    html: Path | None,
    published: list[str],
) -> tuple[SideBySide, Efficiencies | None]:
    """Compare three runs or more with the baseline, and write the report if one is asked for."""
    from hpcscope.comparison.compare import LEVEL, read_side
    from hpcscope.comparison.side_by_side import compared
    from hpcscope.models.published.machines import named

    historic = [named(name) for name in published]
    if baseline is not None and baseline not in runs:
        raise UsageError(f"--baseline {baseline}: must be one of the runs: {', '.join(map(str, runs))}")
    names = list(map(str, runs))
    with _folders(runs) as folders:
        sides = [replace(read_side(folder), path=name) for folder, name in zip(folders, names, strict=True)]
        shares = _efficiencies(folders, names) if efficiency else None
    place = runs.index(baseline) if baseline else 0
    side = compared(sides, place, threshold, LEVEL, across_machines, historic)
    if html is not None:
        from hpcscope.report.comparison.side_by_side import render
        from hpcscope.rundirectory import write_text

        write_text(html, render(side, sides, shares, historic))
    return side, shares


def _print_side_by_side(side: SideBySide, shares: Efficiencies | None, every: bool, json: bool) -> None:
    if shares is not None:
        _print_efficiencies(shares, json)
        return
    from hpcscope.comparison.side_by_side_table import table
    from hpcscope.report.terminal.console import console

    _print(side, json, lambda: table(side, console().width, every))


def _refuse_unmeasured(measured: bool, options: Given, only: list[str] | None, output: Path | None) -> None:
    """Raise UsageError if nothing is measured but an option says how to measure."""
    given = {"--time": options.get("time_s"), "--only": only, "--output": output}
    if not measured and (named := [name for name, value in given.items() if value is not None]):
        raise UsageError(f"{named[0]}: only valid with --measure or --confirm")


def _measured(
    sides: tuple[Path, Path],
    benchmarks: Given,
    output: Path | None,
    asked: ComparisonSettings,
    beyond: float,
    json: bool,
) -> bool:
    """Measure both sides interleaved, print the comparison, return whether one is worse by more than `beyond`."""
    from hpcscope.cli.progress import stage_progress
    from hpcscope.comparison import MEASURED
    from hpcscope.comparison.paired_table import table
    from hpcscope.engine.compare import compare as interleaved

    a, b = map(str, sides)
    pace = interleaved.Pace(asked.time_s, asked.threshold)
    with stage_progress() as stage:
        found = interleaved.compare(
            a, b, benchmarks, interleaved.Kept(output, sys.argv), pace, stage, partial(typer.echo, err=True)
        )
    _print(found.comparison, json, partial(table, found.comparison))
    written(found.path / MEASURED)
    return bool(found.comparison.regressions(beyond))


def _split_share(runs: list[str], with_share: bool, fewest: int) -> tuple[list[Path], float]:
    """Return the runs, and the fraction that may follow `--fail-on-regression`: a number that is not a run."""
    left = list(runs)
    beyond = 0.0
    number = next((word for word in reversed(left) if _is_number(word) and not Path(word).exists()), None)
    if with_share and number is not None:
        left.remove(number)
        try:
            beyond = Share().typed(number)
        except ValueError as error:
            raise UsageError(f"--fail-on-regression {number}: {error}") from error
    if len(left) < fewest:
        raise UsageError(f"{len(left)} run directories given: must be {'two' if fewest > 1 else 'one'} or more")
    return [Path(run) for run in left], beyond


def _is_number(text: str) -> bool:
    try:
        float(text.removesuffix("%"))
    except ValueError:
        return False
    return True


def _efficiencies(folders: Sequence[Path], names: list[str]) -> Efficiencies:
    from hpcscope.comparison.efficiency import efficiencies

    return efficiencies(folders).model_copy(update={"runs": names})


def _print_efficiencies(shares: Efficiencies, json: bool) -> None:
    from hpcscope.comparison.efficiency_table import table

    _print(shares, json, partial(table, shares))


def _print(found: Strict, json: bool, table: Callable[[], RenderableType]) -> None:
    """Print what was compared as JSON, with the counts of its verdicts if it has them, or as a table."""
    if json:
        counts = getattr(found, "counts", None)
        print_json(found.model_dump() | ({} if counts is None else {"counts": counts}))
    else:
        display(table())
