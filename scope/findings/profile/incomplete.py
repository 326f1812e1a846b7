"""The profile does not hold everything."""

from __future__ import annotations

from scope.findings.finding import Evidence, Finding
from scope.findings.profile.facts import Facts


def find(facts: Facts) -> list[Finding]:
    """Tell what readers must know: processes without a profile, full tables, another tool."""
    found = [_finding("incomplete-profile", text) for text in facts.merged.warnings]
    found += [
        _finding(
            "other-tool", f"Another tool stood between the program and MPI: {path}; its cost is in the figures"
        )
        for path in facts.merged.other_tools
    ]
    return found


def _finding(code: str, title: str) -> Finding:
    return Finding(
        code=code,
        severity="information",
        title=title[:1].upper() + title[1:],
        where={"layer": "measurement"},
        evidence=[Evidence(what="seen in", value="the profiles")],
        advice="Figures that need what is missing are lower bounds; `docs/how-to/monitor.md` tells more.",
    )
