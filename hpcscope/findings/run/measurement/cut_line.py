"""The last line of the samples is incomplete."""

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run


def find(run: Run) -> Found:
    """Find the line that was being written when the run was interrupted."""
    cut = run.raw_samples.cut_line
    if cut is None:
        return
    yield Finding(
        code="cut-line",
        about="measurement",
        severity="warning",
        title=f"Line {cut.line} of samples.jsonl ends after {cut.length} bytes: the case that was running is lost",
        where={"line": cut.line},
        evidence=[Evidence(what="beginning of the line", value=cut.start)],
        advice="`scope run --resume DIRECTORY` measures that case again and keeps all others.",
    )
