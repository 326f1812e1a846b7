"""`scope compare`: two runs, case by case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scope.comparison.comparison import Comparison
    from scope.comparison.efficiency import Efficiencies


def command(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="A B",
            help="Two run directories: what was, and what is. With --fail-on-regression a PERCENT may follow.",
            show_default=False,
        ),
    ],
    threshold: Annotated[
        float, typer.Option(metavar="PERCENT", help="Relative changes smaller than this are no difference.")
    ] = 2.0,
    across_machines: Annotated[
        bool,
        typer.Option("--across-machines", help="Compare although the machines differ; what differs is named."),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Every case, also those without a difference.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The whole comparison as one JSON object.")] = False,
    efficiency: Annotated[
        bool,
        typer.Option("--efficiency", help="What share of its peak each benchmark reaches in A and in B, instead."),
    ] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page as well.")] = None,
    fail_on_regression: Annotated[
        bool,
        typer.Option(
            "--fail-on-regression",
            help="[PERCENT]  Exit with 1 when a case is worse, or worse by more than PERCENT.",
        ),
    ] = False,
) -> None:
    """Hold run B against run A: for each case the change with its interval, a corrected test, a verdict."""
    from scope.comparison.compare import compare
    from scope.errors import UsageError

    paths, percent = _told_apart(runs, fail_on_regression)
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


def _told_apart(runs: list[str], with_percent: bool) -> tuple[tuple[Path, Path], float]:
    """Tell the two runs from the percentage that may stand behind `--fail-on-regression`."""
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
        import json as encoder

        typer.echo(encoder.dumps(shares.model_dump(), indent=1, ensure_ascii=False))
        return
    from scope.comparison.efficiency_table import table
    from scope.report.terminal.console import console

    console().print(table(shares))


def _print(comparison: Comparison, every: bool, json: bool) -> None:
    if json:
        import json as encoder

        counts = {"counts": comparison.counts}
        typer.echo(encoder.dumps(comparison.model_dump() | counts, indent=1, ensure_ascii=False))
        return
    from scope.comparison.table import table
    from scope.report.terminal.console import console

    console().print(table(comparison, every))
