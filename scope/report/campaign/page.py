"""A campaign as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from scope.campaign.analysis import Analysis
from scope.campaign.folder import Head
from scope.findings.finding import Finding
from scope.report.campaign.sections import lead, sections, verdicts
from scope.report.run.introduction import moment

STYLE = Path(__file__).parents[1] / "templates" / "report.css"


def render(head: Head, analysis: Analysis, findings: Sequence[Finding]) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("scope.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("campaign.html").render(
        head=head,
        command=" ".join(head.study.program or head.study.command),
        moment=moment(head.started_unix_s),
        lead=lead(head, analysis),
        verdicts=verdicts(analysis),
        sections=sections(head, analysis),
        findings=findings,
        absent=analysis.absent,
        style=Markup(STYLE.read_text(encoding="utf-8")),
    )
