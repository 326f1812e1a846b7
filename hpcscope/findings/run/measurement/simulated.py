"""The values are simulated; the finding gives the errors of the cases that were also measured."""

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run

SHOWN = 8


def find(run: Run) -> Found:
    """Report what was simulated, and the errors of the cases that were also measured, largest first."""
    record = run.simulation
    if record is None:
        return
    worst = sorted(record.validation, key=lambda row: abs(row.error), reverse=True)
    yield Finding(
        code="simulated",
        about="measurement",
        severity="information",
        title=f"The values are simulated: {record.accuracy}",
        where={"run": record.of},
        evidence=[
            *(Evidence(what="changed", value=change) for change in record.changes),
            *(Evidence(what=f"error, {row.label}", value=row.error) for row in worst[:SHOWN]),
            *(Evidence(what="note", value=note) for note in record.notes),
        ],
        advice="A value for more ranks than were validated, or for a changed platform, is an estimate. Expect"
        " its error to be at least as large as the errors of the validated cases.",
    )
