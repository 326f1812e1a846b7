"""The report of a run directory of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hpcscope.engine import analysis
from hpcscope.errors import UsageError
from hpcscope.health.records import Kept, nothing_kept
from hpcscope.rundirectory import RunDirectory


def write(run: Path, output: Path | None = None, kept: Kept = nothing_kept, nodes: Sequence[str] = ()) -> Path:
    """Write the report of a run of any kind to `output`, else into the run directory, and return its path.

    For a health check, `kept`: earlier checks that are kept elsewhere; `nodes`: the nodes whose pages are wanted.
    Raises UsageError if `nodes` are given for another kind of run.
    """
    kind = analysis.kind_of(run)
    if nodes and kind != "health":
        raise UsageError(f"--node {nodes[0]}: {run} is not a check of health")
    if kind == "monitored":
        from hpcscope.report.profile import contents
        from hpcscope.report.profile import page as profile_page

        return profile_page.write(contents.read(run), output)
    if kind == "health":
        from hpcscope.engine import health
        from hpcscope.report import health as health_page

        record, past, judged = health.read_judged(run, kept)
        return health_page.write(record, judged, past, output or RunDirectory(run).report, nodes)
    if kind == "run":
        from hpcscope.findings.results import Run
        from hpcscope.report.run import page

        return page.write(Run(run), output)
    from hpcscope.engine import campaign

    result = campaign.results(run)
    target = output or result.folder.report
    campaign.draw(result, target)
    return target
