"""The table of `csv` in Arrow's IPC file format, also called Feather: typed columns.

https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format
"""

import importlib
import json
from collections.abc import Sequence
from typing import Any

from hpcscope.catalog.benchmark import Value
from hpcscope.errors import UsageError
from hpcscope.exchange.exports import csv
from hpcscope.findings.results import Run

PACKAGE = "pyarrow"


def write(runs: Sequence[Run]) -> bytes:
    """Return the file; UsageError if pyarrow is not installed."""
    made = table(runs, "arrow")
    sink = pyarrow("arrow").BufferOutputStream()
    with pyarrow("arrow", "ipc").new_file(sink, made.schema) as file:
        file.write_table(made)
    return bytes(sink.getvalue())


def table(runs: Sequence[Run], name: str) -> Any:
    """Return the table; its metadata (JSON) give the Scope version and the start time of each run."""
    names, rows = csv.table(runs)
    columns = [_column(list(values), name) for values in zip(*rows, strict=True)] or [[] for _ in names]
    about = [
        {"run": record.name, "scope_version": record.scope_version, "started_unix_s": record.started_unix_s}
        for record in (run.record for run in runs)
    ]
    return pyarrow(name).table(columns, names=names, metadata={"scope": json.dumps(about)})


def pyarrow(name: str, module: str = "") -> Any:
    """Return pyarrow or one of its modules, which few exports need; UsageError if it is not installed."""
    try:
        return importlib.import_module(f"{PACKAGE}.{module}" if module else PACKAGE)
    except ImportError as error:
        raise UsageError(
            f"{name}: needs {PACKAGE}, which is not installed; pip install {PACKAGE} (requirements/arrow.txt)"
        ) from error


def _column(values: list[Value | None], name: str) -> Any:
    """Return a column of one type, which is text if benchmarks disagree on the type of a parameter."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [None if value is None else str(value) for value in values]
    return pyarrow(name).array(values)
