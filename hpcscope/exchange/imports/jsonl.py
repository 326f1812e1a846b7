"""JSON Lines written by `scope export jsonl`: summaries with all keys, the name of the run and its hosts."""

import json
from collections.abc import Sequence
from typing import Any

from hpcscope.exchange.imports import PrintedFigure, Reading
from hpcscope.exchange.imports.exported import figure, undeclared
from hpcscope.exchange.imports.lines import TextLine

TITLE = "Scope"
BEGINS = ()


def claims(lines: Sequence[TextLine]) -> bool:
    """Return whether the lines contain a summary."""
    return any(_held(line) is not None for line in lines)


def read(lines: Sequence[TextLine]) -> Reading:
    """Return the values of all summaries."""
    found: list[tuple[PrintedFigure, str, str]] = []
    hosts: dict[str, None] = {}
    runs: dict[str, None] = {}
    for line in lines:
        held = _held(line)
        if held is None:
            continue
        run, names = held.pop("run"), held.pop("hosts")
        printed = figure(held, line.number)
        if printed is not None:
            found.append((printed, held["unit"], held["better"]))
            runs[str(run)] = None
            hosts |= dict.fromkeys(map(str, names if isinstance(names, list) else []))
    return Reading(
        program=f"{TITLE}, run {', '.join(runs)}" if runs else TITLE,
        figures=[printed for printed, _, _ in found],
        understood={printed.line for printed, _, _ in found},
        benchmarks=undeclared(found),
        hosts=list(hosts),
    )


def _held(line: TextLine) -> dict[str, Any] | None:
    """Return the keys of a summary; None if the line is not a summary."""
    if not line.text.startswith("{"):
        return None
    try:
        held = json.loads(line.text)
    except (ValueError, RecursionError):
        return None
    keys = {"run", "hosts", "benchmark", "metric", "unit", "better", "median"}
    return held if isinstance(held, dict) and keys <= held.keys() else None
