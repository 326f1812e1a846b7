"""Lines of the samples are damaged: their contents were left out."""

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run

SHOWN = 8


def find(run: Run) -> Found:
    """Find lines that do not match their checksums or that no version of Scope can have written."""
    damaged = run.raw_samples.damaged
    if not damaged:
        return
    lines = "1 line" if len(damaged) == 1 else f"{len(damaged)} lines"
    are = "is" if len(damaged) == 1 else "are"
    first = damaged[0]
    yield Finding(
        code="damaged-lines",
        about="measurement",
        severity="warning",
        title=f"{lines} of samples.jsonl {are} damaged and left out; line {first.line}: {first.reason}",
        where={"line": first.line},
        evidence=[
            Evidence(what=f"line {damaged_line.line}", value=damaged_line.reason)
            for damaged_line in damaged[:SHOWN]
        ],
        advice="Restore the file from a copy and run `scope analyze DIRECTORY`. Or measure these cases again:"
        " `scope run --resume DIRECTORY`.",
    )
