"""Runs that failed."""

from hpcscope.findings.campaign import CampaignFacts
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.programs.campaign.soak import exact_share
from hpcscope.statistics.estimate import in_percent

WORDS = {
    "wrong": ("returned wrong results", "error"),
    "failed": ("failed", "warning"),
    "timeout": ("exceeded the time limit", "warning"),
}
MOST_NAMED = 5


def find(facts: CampaignFacts) -> Found:
    """Find runs with wrong results, failures or time-outs; one finding per kind, with the fraction of all runs."""
    for status, (words, severity) in WORDS.items():
        runs = [run for run in facts.analysis.disturbances if run.status == status]
        if not runs:
            continue
        share = exact_share(len(runs), facts.analysis.runs)
        yield Finding.model_validate(
            {
                "code": f"runs-{status}",
                "severity": severity,
                "title": (f"{len(runs)} of {facts.analysis.runs} runs {words}, {in_percent(share)}"),
                "where": {"runs": ", ".join(str(run.number) for run in runs[:MOST_NAMED])},
                "evidence": [Evidence(what=f"run {run.number}", value=run.reason) for run in runs[:MOST_NAMED]],
                "advice": "The directories of these runs contain the output, and the profile if written.",
                "lost": share.value,
            }
        )
