"""The table of `csv` as Apache Parquet: typed, compressed columns.

https://parquet.apache.org/docs/file-format/
"""

from collections.abc import Sequence

from hpcscope.exchange.exports import arrow
from hpcscope.findings.results import Run


def write(runs: Sequence[Run]) -> bytes:
    """Return the file; UsageError if pyarrow is not installed."""
    sink = arrow.pyarrow("parquet").BufferOutputStream()
    arrow.pyarrow("parquet", "parquet").write_table(arrow.table(runs, "parquet"), sink)
    return bytes(sink.getvalue())
