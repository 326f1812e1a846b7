"""Findings for GitLab's merge requests: a code quality report in JSON.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

import hashlib
import json
from collections.abc import Sequence

from hpcscope.findings.finding import Severity
from hpcscope.findings.results import Run

_SEVERITIES: dict[Severity, str] = {
    "error": "critical",
    "warning": "major",
    "advice": "minor",
    "information": "info",
}


def write(runs: Sequence[Run]) -> str:
    """Return all findings; findings of two runs are the same if their codes and places are equal."""
    found = []
    for run in runs:
        for finding in run.findings:
            place = json.dumps([finding.code, finding.where], sort_keys=True)
            found.append(
                {
                    "description": f"{finding.title}. {finding.advice}" if finding.advice else finding.title,
                    "check_name": finding.code,
                    "fingerprint": hashlib.sha256(place.encode()).hexdigest(),
                    "severity": _SEVERITIES[finding.severity],
                    "location": {"path": "findings.json", "lines": {"begin": 1}},
                }
            )
    return json.dumps(found, indent=1) + "\n"
