"""A cluster below the minimum configuration of the baseline module."""

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run


def find(run: Run) -> Found:
    """Find the resources that the cluster lacks, with the cases that were left out for lack of them."""
    lacks = run.record.lacks
    if not lacks:
        return
    resources = {lack.resource for lack in lacks}
    left_out = [skipped for skipped in run.record.skipped if skipped.resource in resources]
    cases = "1 case was" if len(left_out) == 1 else f"{len(left_out)} cases were"
    yield Finding(
        code="below-minimum-configuration",
        about="measurement",
        severity="information",
        title=f"Below the minimum configuration ({', '.join(lack.words for lack in lacks)}): {cases} skipped",
        where={"benchmark": ", ".join(sorted({skipped.benchmark for skipped in left_out}))},
        evidence=[
            *(Evidence(what=f"{lack.resource} of {lack.needed}", value=lack.found) for lack in lacks),
            Evidence(what="cases left out", value=len(left_out)),
        ],
        advice=(
            "The measured cases can be compared with other clusters; the skipped cases need more resources. "
            "`--oversubscribe` runs them on too few cores: this shows that they work, but not how fast."
        ),
    )
