"""`scope compare`: two runs, case by case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scope.cli.options import Json
from scope.cli.output import print_json

if TYPE_CHECKING:
    from scope.comparison.comparison import Comparison
    from scope.comparison.efficiency import Efficiencies


def command(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="A B",
            help="Two run directories, before and after. With --fail-on-regression a PERCENT may follow.",
            show_default=False,
        ),
    ],
    threshold: Annotated[
        float, typer.Option(metavar="PERCENT", help="Relative changes below this count as equal; default: 2.")
    ] = 2.0,
    across_machines: Annotated[
        bool,
        typer.Option("--across-machines", help="Compare although the machines differ; lists the differences."),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Every case, also those that did not change.")] = False,
    json: Json = False,
    efficiency: Annotated[
        bool,
        typer.Option("--efficiency", help="Compare instead the shares of their peaks that the benchmarks reach."),
    ] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write an offline HTML page.")] = None,
    fail_on_regression: Annotated[
        bool,
        typer.Option(
            "--fail-on-regression",
            help="[PERCENT]  Exit with 1 if a case is worse (by more than PERCENT).",
        ),
    ] = False,
) -> None:
    """Compare run B with run A: the change of each case with its interval, a corrected test, and a verdict."""
    from scope.comparison.compare import compare
    from scope.errors import UsageError

    paths, percent = _split_percent(runs, fail_on_regression)
    if not 0 <= threshold < 100:
        raise UsageError(f"--threshold = {threshold:g}: must be a percentage from 0 to less than 100")
    shares = _efficiencies(*paths) if efficiency else None
    if shares is not None and html is None and not fail_on_regression:
        _print_efficiencies(shares, json)
        return
    comparison = compare(*paths, threshold=threshold / 100, across_machines=across_machines)
    if html is not None:
        from scope.comparison.page import render
        from scope.rundirectory import write_text

        write_text(html, render(comparison, shares))
    if shares is not None:
        _print_efficiencies(shares, json)
    else:
        _print(comparison, every, json)
    if fail_on_regression and comparison.regressions(percent / 100):
        raise SystemExit(1)


def _split_percent(runs: list[str], with_percent: bool) -> tuple[tuple[Path, Path], float]:
    """Return the two runs, and the percentage that may follow `--fail-on-regression`."""
    from scope.errors import UsageError

    left = list(runs)
    percent = 0.0
    if with_percent and len(left) == 3:
        index = next((at for at in (2, 0, 1) if _is_number(left[at])), None)
        if index is None:
            raise UsageError(f"--fail-on-regression {left[2]}: must be a percentage such as 5")
        percent = float(left.pop(index))
        if not 0 <= percent < 100:
            raise UsageError(f"--fail-on-regression {percent:g}: must be a percentage from 0 to less than 100")
    if len(left) != 2:
        raise UsageError(f"scope compare: {len(left)} run directories given: must be two, A and B")
    return (Path(left[0]), Path(left[1])), percent


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _efficiencies(a: Path, b: Path) -> Efficiencies:
    from scope.comparison.efficiency import efficiencies

    return efficiencies(a, b)


def _print_efficiencies(shares: Efficiencies, json: bool) -> None:
    if json:
        print_json(shares.model_dump())
        return
    from scope.comparison.efficiency_table import table
    from scope.report.terminal.console import console

    console().print(table(shares))


def _print(comparison: Comparison, every: bool, json: bool) -> None:
    if json:
        print_json(comparison.model_dump() | {"counts": comparison.counts})
        return
    from scope.comparison.table import table
    from scope.report.terminal.console import console

    console().print(table(comparison, every))
