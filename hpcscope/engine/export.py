"""Results in the formats of other programs."""

import difflib
from collections.abc import Sequence
from pathlib import Path

from hpcscope.engine import health
from hpcscope.engine.analysis import Kind, kind_of
from hpcscope.errors import UsageError
from hpcscope.exchange import exports
from hpcscope.exchange import health as health_exports
from hpcscope.findings.results import Run
from hpcscope.health.records import Kept, nothing_kept
from hpcscope.programs.profiles import exports as profile_exports
from hpcscope.programs.profiles import folder, trace
from hpcscope.programs.profiles.merged import PROFILE, merge, read
from hpcscope.report import paper
from hpcscope.report.run.selection import select
from hpcscope.rundirectory import RunDirectory
from hpcscope.visible import visible

CHROME = "chrome"


def exported(
    name: str, runs: Sequence[Path], patterns: Sequence[str] = (), kept: Kept = nothing_kept
) -> exports.Content:
    """Return the chosen results of runs in a format; UsageError names the formats that runs of their kind have.

    `kept`: earlier health checks that are kept elsewhere.
    """
    kinds = {run: _kind(run) for run in runs}
    for run, kind in kinds.items():
        if kind == "campaign":
            raise UsageError(f"{run}: is a campaign; must be one of the runs inside it")
        if kind != kinds[runs[0]]:
            raise UsageError(f"{run}: must be of the same kind as {runs[0]}: all runs, or all monitored runs")
    if kinds[runs[0]] == "health":
        if len(runs) != 1 or patterns:
            raise UsageError(f"{runs[-1]}: a check of health must be exported alone and without --only")
        record, _, judged = health.read_judged(runs[0], kept)
        return health_exports.written(name, record, judged)
    monitored = kinds[runs[0]] == "monitored"
    known = sorted([*profile_exports.names(), CHROME]) if monitored else exports.names()
    if name not in known:
        what = "a monitored run" if monitored else "a run"
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"{name}: unknown format; for {what} it must be one of {', '.join(known)}{hint}")
    if not monitored:
        chosen = [run.replaced(statistics=select(run.statistics, patterns)) for run in map(Run, runs)]
        content = exports.writer(name)(chosen)
        return visible(content) if isinstance(content, str) else content
    if patterns:
        raise UsageError(f"--only {patterns[0]}: chooses benchmarks, but {runs[0]} is a monitored run")
    if name == CHROME:
        return _chrome(runs)
    return profile_exports.writer(name)([read(run) if (run / PROFILE).is_file() else merge(run) for run in runs])


def figure(runs: Sequence[Path], patterns: Sequence[str], output: Path | None, table: bool) -> exports.Content:
    """Return the chosen curves of runs as the file that `output` names, or as a table."""
    kind = output.suffix.removeprefix(".") if output else ""
    if not table and kind not in paper.FORMATS:
        found = f"found {output}" if output else "none was given"
        raise UsageError(f"--output: must end in .{' or .'.join(paper.FORMATS)}, but {found}; or use --table")
    names = [run.name for run in runs]
    opened = {run.name if names.count(run.name) == 1 else str(run): Run(run) for run in runs}
    chosen = {name: run.replaced(statistics=select(run.statistics, patterns)) for name, run in opened.items()}
    pages = paper.figures(chosen)
    return visible(paper.table(pages)) if table else paper.written(pages, kind)


def _kind(folder: Path) -> Kind:
    """Return the kind of a folder; one that seems a benchmark run but has no run file holds profiles alone."""
    kind = kind_of(folder)
    return "monitored" if kind == "run" and not RunDirectory(folder).run.exists() else kind


def _chrome(runs: Sequence[Path]) -> str:
    """Return the trace of a monitored run; UsageError if it has none."""
    if len(runs) != 1:
        raise UsageError(f"{CHROME}: must have one run, not {len(runs)}")
    profiles = folder.job(runs[0]).profiles
    if not any(len(profile.tables["events"]) for profile in profiles):
        raise UsageError(f"{runs[0]}: has no trace; record one with `scope monitor --trace START:SECONDS`")
    hosts = {profile.rank: profile.host for profile in profiles}
    return trace.chrome(trace.gather(profiles), hosts) + "\n"
