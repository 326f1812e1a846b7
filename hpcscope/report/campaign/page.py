"""The report of a campaign: one self-contained HTML file."""

from collections.abc import Sequence

from hpcscope.findings.finding import Finding
from hpcscope.programs.campaign.analysis import Analysis
from hpcscope.programs.campaign.folder import Head
from hpcscope.report.campaign.sections import answers, lead, sections, verdicts
from hpcscope.report.frame import page, plots
from hpcscope.report.wording import moment


def render(head: Head, analysis: Analysis, findings: Sequence[Finding]) -> str:
    """Return the report as HTML."""
    tables = sections(head, analysis)
    return page(
        "campaign.html",
        head=head,
        command=" ".join(head.study.program or head.study.command),
        moment=moment(head.started_unix_s),
        lead=lead(head, analysis),
        verdicts=[*answers(analysis), *verdicts(analysis)],
        sections=tables,
        findings=findings,
        absent=analysis.absent,
        figures=plots(chart for section in tables for chart in section.charts),
    )
