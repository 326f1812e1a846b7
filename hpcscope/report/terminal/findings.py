"""Findings on a terminal: worst first, one of each kind, limited to one screen."""

import textwrap
from collections import Counter
from collections.abc import Iterator

from rich.text import Text

from hpcscope.findings.finding import Finding, about
from hpcscope.report.finding_groups import by_kind
from hpcscope.report.wording import sentence
from hpcscope.rundirectory import RunDirectory
from hpcscope.units import count

WIDTH = 100
LABEL_COLUMNS = 12
"""Width of the severity of a finding, or of the layer of a rung."""
_FINDING_LINES = 12
_TRUST_LINES = 3
"""Together with a ladder, about one screen."""
_STYLES = {"error": "bold red", "warning": "yellow", "advice": "cyan", "information": "dim"}


def told(findings: list[Finding], width: int = WIDTH) -> Iterator[Text]:
    """Yield the findings about the cluster that fit on the screen, then the findings about the measurement."""
    if not findings:
        yield Text("There are no findings.", style="bold")
        return
    cluster, measurement = about(findings, "cluster"), about(findings, "measurement")
    heading = f"{count(len(cluster), 'finding')}, worst first" if cluster else "No findings about the cluster."
    yield Text(heading, style="bold")
    yield from _listed(cluster, _FINDING_LINES, width, with_advice=True)
    if measurement:
        yield Text()
        yield Text(f"How far to trust this run: {_severities(measurement)}", style="bold")
        grave = [finding for finding in measurement if finding.severity in ("error", "warning")]
        yield from _listed(grave, _TRUST_LINES, width, with_advice=False)


def report_line(directory: RunDirectory) -> Text:
    """Return where the report of a run is, or how to write it."""
    if directory.report.exists():
        return Text.assemble("Report  ", (str(directory.report), "underline"))
    return Text(f"Report  not written yet; `scope report {directory.path}` writes it")


def _listed(findings: list[Finding], left: int, width: int, with_advice: bool) -> Iterator[Text]:
    """Yield findings, one of each kind, until the lines are used up."""
    shown = 0
    for alike in by_kind(findings):
        lines = list(_finding(alike[0], len(alike) - 1, width, with_advice))
        if shown and len(lines) > left:
            yield Text(f"  and {count(len(findings) - shown, 'more finding')} in the report", style="dim")
            return
        shown += len(alike)
        left -= len(lines)
        yield from lines


def _severities(findings: list[Finding]) -> str:
    """Return the number of findings by severity: `2 warnings and 1 note`."""
    numbers = Counter(str(finding.severity) for finding in findings)
    notes = numbers["advice"] + numbers["information"]
    words = [count(numbers[severity], severity) for severity in ("error", "warning") if numbers[severity]]
    return sentence([*words, *([count(notes, "note")] if notes else [])])


def _finding(finding: Finding, others: int, width: int, with_advice: bool) -> Iterator[Text]:
    """Yield the worst finding of a kind with the number of others, and its whole advice if wanted."""
    indent = " " * (2 + LABEL_COLUMNS)
    further, shared = (len(finding.also), "with this cause") if finding.also else (others, "of this kind")
    title = finding.title + (f" (and {count(further, 'more finding')} {shared})" if further else "")
    lines = textwrap.wrap(title, width - len(indent)) or [finding.code]
    for index, line in enumerate(lines):
        lead = (f"  {finding.severity:<{LABEL_COLUMNS}}", _STYLES[finding.severity]) if index == 0 else indent
        yield Text.assemble(lead, line)
    if with_advice:
        wrapped = textwrap.wrap("-> " + finding.advice, width - len(indent), subsequent_indent="   ")
        yield from (Text(indent + line, style="dim") for line in wrapped)
