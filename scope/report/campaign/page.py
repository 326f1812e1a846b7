"""A campaign as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from scope.findings.finding import Finding
from scope.programs.campaign.analysis import Analysis
from scope.programs.campaign.folder import Head
from scope.report.campaign.sections import answers, lead, sections, verdicts
from scope.report.frame import as_json, environment, plot
from scope.report.run.introduction import moment


def render(head: Head, analysis: Analysis, findings: Sequence[Finding]) -> str:
    """Return the page."""
    tables = sections(head, analysis)
    return (
        environment()
        .get_template("campaign.html")
        .render(
            head=head,
            command=" ".join(head.study.program or head.study.command),
            moment=moment(head.started_unix_s),
            lead=lead(head, analysis),
            verdicts=[*answers(analysis), *verdicts(analysis)],
            sections=tables,
            findings=findings,
            absent=analysis.absent,
            figures=as_json({chart.key: plot(chart) for section in tables for chart in section.charts}),
        )
    )
