"""The report of a run directory of any kind."""

from pathlib import Path

from hpcscope.engine import analysis
from hpcscope.rundirectory import RunDirectory


def write(run: Path, output: Path | None = None) -> Path:
    """Write the report of a run of any kind to `output`, else into the run directory, and return its path."""
    kind = analysis.kind_of(run)
    if kind == "monitored":
        from hpcscope.report.profile import contents
        from hpcscope.report.profile import page as profile_page

        return profile_page.write(contents.read(run), output)
    if kind == "health":
        from hpcscope.engine import health
        from hpcscope.report import health as health_page

        record, judged = health.read_judged(run)
        past = health.earlier(run.resolve().parent, record)
        return health_page.write(record, judged, past, output or RunDirectory(run).report)
    if kind == "run":
        from hpcscope.findings.results import Run
        from hpcscope.report.run import page

        return page.write(Run(run), output)
    from hpcscope.engine import campaign

    result = campaign.results(run)
    target = output or result.folder.report
    campaign.draw(result, target)
    return target
