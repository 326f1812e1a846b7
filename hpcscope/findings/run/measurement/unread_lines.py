"""Lines of another program's output that were not understood: they may contain a value."""

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run

SHOWN = 8


def find(run: Run) -> Found:
    """Report the lines of an imported run that contain no recognized value, header or comment."""
    imported = run.record.imported
    if imported is None or not imported.unread_lines:
        return
    first = imported.unread[0]
    lines = "1 line was" if imported.unread_lines == 1 else f"{imported.unread_lines:,} lines were"
    yield Finding(
        code="unread-lines",
        about="measurement",
        severity="information",
        title=f"{lines} not understood; the first is line {first.line} of {first.file}: {first.text}",
        where={"file": first.file, "line": first.line},
        evidence=[
            Evidence(what=f"{unread.file}:{unread.line}", value=unread.text) for unread in imported.unread[:SHOWN]
        ],
        advice="Check whether these lines contain a value; the copies in `imported/` have all lines.",
    )
