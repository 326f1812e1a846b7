"""JSON Lines written by `scope export jsonl`: summaries with all keys, the name of the run and its hosts."""

from collections.abc import Sequence
from typing import Any

from hpcscope.exchange.imports.exported import ExportReader
from hpcscope.exchange.imports.lines import TextLine
from hpcscope.exchange.imports.objects import parsed


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
    held = parsed(line.text) if line.text.startswith("{") else None
    keys = {"run", "hosts", "benchmark", "metric", "unit", "better", "median"}
    return held if held is not None and keys <= held.keys() else None
