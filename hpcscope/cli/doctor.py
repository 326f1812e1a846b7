"""`scope doctor`: checks of this machine for measuring."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from hpcscope.cli.options import Json
from hpcscope.cli.output import display, print_json

if TYPE_CHECKING:
    from hpcscope.machine.checks import Check


def command(json: Json = False) -> None:
    """Check compilers, MPIs, processors, clock, governor and permissions, and give advice.

    The exit code is 1 if something that every measurement needs is missing.
    """
    from hpcscope.engine import doctor

    checks = doctor.all_checks()
    if json:
        print_json([asdict(check) for check in checks])
    else:
        _print_table(checks)
    if any(check.needed and not check.ok for check in checks):
        raise typer.Exit(1)


def _print_table(checks: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for check in checks:
        mark = (
            Text("ok", style="green") if check.ok else Text("!!", style="bold red" if check.needed else "yellow")
        )
        text = Text(check.found)
        if check.advice:
            text.append(f"\n{check.advice}", style="dim" if check.ok else "bold")
        table.add_row(mark, check.name, text)
    display(table)
