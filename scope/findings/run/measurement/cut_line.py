"""The last line of the samples was cut."""

from __future__ import annotations

from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context


def find(context: Context) -> list[Finding]:
    """Find the line that was being written when the run was interrupted."""
    cut = context.samples.cut_line
    if cut is None:
        return []
    return [
        Finding(
            code="cut-line",
            severity="warning",
            title=f"Line {cut.line} of samples.jsonl is cut after {cut.length} bytes: the case that ran is lost",
            where={"line": cut.line},
            evidence=[Evidence(what="it begins with", value=cut.start)],
            advice="`scope run --resume DIRECTORY` keeps the rest and measures that case again.",
        )
    ]
