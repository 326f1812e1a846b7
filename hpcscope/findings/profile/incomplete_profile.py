"""The profile is incomplete."""

from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.profile import ProfileFacts


def find(facts: ProfileFacts) -> list[Finding]:
    """Report ranks without a profile, full tables, and other tools."""
    findings = [
        _finding(
            "incomplete-profile",
            text,
            "Values that depend on the missing part are lower bounds; see `docs/how-to/monitor.md`.",
        )
        for text in facts.merged.warnings
    ]
    findings += [
        _finding(
            "other-tool",
            f"Another tool was interposed between the program and MPI: {path}; the times include its overhead",
            "To find this overhead, run the program without the other tool; see `docs/how-to/monitor.md`.",
            path,
        )
        for path in facts.merged.other_tools
    ]
    return findings


def _finding(code: str, title: str, advice: str, library: str = "") -> Finding:
    return Finding(
        code=code,
        severity="information",
        title=title[:1].upper() + title[1:],
        where={"layer": "measurement"} | ({"library": library} if library else {}),
        evidence=[Evidence(what="seen in", value="the profiles")],
        advice=advice,
    )
