"""JSON Lines written by `scope export jsonl`: summaries with all keys, the name of the run and its hosts."""

import json
from collections.abc import Sequence
from typing import Any

from hpcscope.exchange.imports.exported import ExportReader
from hpcscope.exchange.imports.lines import TextLine


class _Reader(ExportReader):
    TITLE = "Scope"

    @classmethod
    def claims(cls, lines: Sequence[TextLine]) -> bool:
        """Return whether the lines contain a summary."""
        return any(_held(line) is not None for line in lines)

    def _takes(self, line: TextLine) -> bool:
        held = _held(line)
        if held is None:
            return False
        run, names = held.pop("run"), held.pop("hosts")
        return self._summary(held, line.number, str(run), map(str, names if isinstance(names, list) else []))


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
