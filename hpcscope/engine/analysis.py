"""Everything that is derived from raw data, for each kind of run directory; needs no MPI and no network."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from hpcscope.engine.progress import ignore
from hpcscope.findings.finding import Findings
from hpcscope.findings.results import Run, derived
from hpcscope.findings.run import find_all
from hpcscope.locks import held
from hpcscope.rundirectory import FORMAT, note_checksums, write_json
from hpcscope.statistics.summary import Summaries

Kind = Literal["run", "monitored", "campaign", "health"]


def kind_of(folder: Path) -> Kind:
    """Return which kind of results a folder holds: of benchmarks, a monitored program, a campaign, health."""
    # A benchmark run does not need the modules that the other kinds load.
    from hpcscope.health.records import FILE as HEALTH
    from hpcscope.programs.campaign import is_campaign
    from hpcscope.programs.profiles.monitored_run import is_monitored

    if (folder / HEALTH).is_file():
        return "health"
    return "campaign" if is_campaign(folder) else "monitored" if is_monitored(folder) else "run"


def analyze(run: Path) -> Run:
    """Write statistics.json, models.json and findings.json of a run directory, each in one step.

    Return the run as derived from its samples.

    Raises UsageError when a file of the run is missing or wrong, ScopeError when one cannot be written.
    """
    found = derived(run)
    with held(run):
        return _written(found)


def explain(run: Path, stage: Callable[[str], None] = ignore) -> Run:
    """Derive everything from a run's samples, draw its report and return it; `stage` is told what is done."""
    from hpcscope.report.run import page

    stage("statistics and models")
    found = derived(run)
    with held(run):
        stage("findings")
        found = _written(found)
        stage("report")
        page.write(found)
    return found


def _written(run: Run) -> Run:
    run = run.replaced(findings=find_all(run))
    directory = run.directory
    statistics = Summaries(format=FORMAT, summaries=list(run.statistics), course=run.course)
    write_json(directory.statistics, statistics)
    write_json(directory.models, run.models)
    write_json(directory.findings, Findings(format=FORMAT, findings=run.findings))
    note_checksums(directory.path, [directory.statistics, directory.models, directory.findings])
    return run
