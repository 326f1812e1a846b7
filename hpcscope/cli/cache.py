"""`scope cache`: the compiled programs that Scope keeps; list and remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from hpcscope.cli.options import Json
from hpcscope.cli.output import display, grid, print_json, when
from hpcscope.cli.streams import one_line
from hpcscope.units import quantity

if TYPE_CHECKING:
    from hpcscope.build.cached import Cached


def list_cache(json: Json = False) -> None:
    """List the builds, last used first: when, what, and size."""
    from hpcscope.build import cached, cmake

    entries = cached.entries()
    if json:
        print_json([asdict(entry) | {"path": str(entry.path)} for entry in entries])
        return
    _print(entries)
    print(f"{quantity(sum(entry.size_bytes for entry in entries), 'B')} in {cmake.cache_directory()}")


def prune(
    older: Annotated[
        float, typer.Option(metavar="DAYS", min=0, help="Keep programs that were used in the last DAYS days.")
    ] = 30.0,
) -> None:
    """Remove builds not used for a month, or for --older DAYS.

    They are compiled again when they are needed.
    """
    from hpcscope.build import cached

    old = [entry for entry in cached.entries() if entry.days() > older]
    removed = [entry for entry in old if cached.remove(entry)]
    _print(removed)
    print(f"removed: {quantity(sum(entry.size_bytes for entry in removed), 'B')}")
    if len(removed) < len(old):
        print(f"in use, and kept: {len(old) - len(removed)}")


def _print(entries: Sequence[Cached]) -> None:
    rows = [
        [
            when(entry.used_unix_s),
            entry.kind,
            quantity(entry.size_bytes, "B"),
            entry.path.name[:16],
            one_line(entry.of),
        ]
        for entry in entries
    ]
    if rows:
        display(grid(["last used", "kind", "size", "name", "of"], rows))


COMMANDS = {"list": list_cache, "prune": prune}
