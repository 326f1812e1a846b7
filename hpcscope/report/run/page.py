"""The report of a run: one self-contained HTML file."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from hpcscope.catalog.benchmark import Benchmark
from hpcscope.findings.finding import about
from hpcscope.findings.results import Run
from hpcscope.grouping import grouped
from hpcscope.report import validity, wording
from hpcscope.report.figure import DotPlot, Figure, Table, filled, origins
from hpcscope.report.finding_groups import folded
from hpcscope.report.frame import as_json, page, plots
from hpcscope.report.order import level, level_rank
from hpcscope.report.run import (
    applications,
    introduction,
    ladders,
    notes,
    overview,
    readers,
    simulation,
    simulation_tables,
    tuning,
)
from hpcscope.report.run.figures import (
    collectives,
    computation,
    course,
    curves,
    distributions,
    messages,
    operation_parts,
    pairs,
    phases,
    phases_by_rank,
    predictions,
    random_pairs,
    ranks,
    residuals,
    roofline,
    saturation,
    side_by_side,
    speedup,
    surfaces,
)
from hpcscope.report.run.figures.residuals import subject
from hpcscope.report.run.introduction import library, machine_name
from hpcscope.report.run.parameters import ListedFit, outcomes
from hpcscope.report.run.provenance import provenance
from hpcscope.report.run.rows import CaseRow, by_case, headings, packed, rows
from hpcscope.rundirectory import Skipped, write_text
from hpcscope.statistics.summary import Summary

_CAUSES = 5
"""Maximum number of causes on the first screen."""
_SPEEDUPS = 6
"""Number of speedup curves that are not folded."""
_CURVE = 3
"""Minimum number of rank counts in a speedup curve that is not folded."""


@dataclass(frozen=True)
class BenchmarkSection:
    """One benchmark on the page."""

    declared: Benchmark
    figures: list[Figure | DotPlot]
    failed: list[CaseRow]
    """Its cases without a result."""
    cases: int
    notes: list[str]
    """What its cases show together."""

    @property
    def unavailable(self) -> bool:
        """Whether all cases without a result were unavailable, so that nothing failed."""
        return all(row.reason.startswith("unavailable") for row in self.failed)


@dataclass(frozen=True)
class LevelSection:
    """One level of benchmarks."""

    name: str
    title: str
    sections: list[BenchmarkSection]
    characterisation: Table | None = None
    """Machine-independent characteristics, for applications only."""


@dataclass(frozen=True)
class Modeled:
    """The models of one benchmark."""

    declared: Benchmark
    outcomes: list[ListedFit]
    residuals: list[Figure | DotPlot]


def write(run: Run, output: Path | None = None) -> Path:
    """Write the report of a run and return its path, by default `report.html` in the run directory.

    Raises UsageError when a file of the run is missing or wrong, ScopeError when the page cannot be written.
    """
    target = output or run.directory.report
    write_text(target, render(run))
    return target


def render(run: Run) -> str:
    """Return the report of a run as HTML."""
    tuned = tuning.chosen(run.directory, run.models)
    simulated = simulation.section(run)
    of_pairs = [figure for name in run.benchmarks.names for figure in _of_pairs(run, name)]
    first = filled(list(messages.figures(run)) or of_pairs)
    all_speedups = list(_speedups(run))
    curved = [figure for figure in all_speedups if _counts(figure) >= _CURVE][:_SPEEDUPS]
    sections = {
        "first": first,
        "speedups": filled([*speedup.compared(run), *curved]),
        # Folded: curves beyond the first few, or with too few rank counts.
        "more_speedups": filled([figure for figure in all_speedups if figure not in curved]),
        "collectives": filled(list(collectives.figures(run))),
        "roofline": filled(list(roofline.figures(run))),
    }
    levels = _levels(run, {figure.key for figure in first})
    after = {"strip": filled(list(course.figures(run))), "distributions": filled(list(distributions.figures(run)))}
    models = _modeled(run)
    drawn = [
        *([tuned.figure] if tuned and tuned.figure else ()),
        *(simulated.figures if simulated else ()),
        *chain.from_iterable(sections.values()),
        *(figure for level in levels for section in level.sections for figure in section.figures),
        *chain.from_iterable(after.values()),
        *(figure for modeled in models for figure in modeled.residuals),
    ]
    return page(
        "report.html",
        **_head(run),
        **sections,
        **after,
        levels=levels,
        models=models,
        simulated=simulated,
        tuned=tuned,
        of_ladder=ladders,
        simulation=simulation_tables,
        changed=run.course.changes > 0,
        figures=plots(drawn),
    )


def _head(run: Run) -> dict[str, Any]:
    """Return everything in the report except the figures."""
    used = {summary.definition for summary in run.statistics}
    cluster = about(run.findings, "cluster")
    causes = [finding for finding in cluster if finding.severity != "information"][:_CAUSES]
    main = next(iter(overview.main_ladders(run)), next(iter(run.models.ladders), None))
    rejected = [fit for fit in run.models.fits if not fit.chosen]
    return {
        "run": run,
        "title": machine_name(run.machine),
        "run_name": run.record.name,
        "when": wording.moment(run.record.started_unix_s),
        "library": library(run.machine),
        "verdict": introduction.verdict(run),
        "cluster": introduction.cluster(run),
        "measured": introduction.measured(run),
        "cautions": introduction.cautions(run),
        "tiles": overview.tiles(run),
        "views": readers.views(run),
        "trust_facts": overview.trust(run),
        "main_ladder": main,
        "ladders": [ladder for ladder in run.models.ladders if ladder is not main],
        "requests": _requests(run),
        "origins": origins(run.statistics),
        "interval_notes": validity.footnotes(run.statistics.primary),
        "findings": cluster,
        "causes": causes,
        "others": folded([finding for finding in cluster if finding not in causes]),
        "trust": folded(about(run.findings, "measurement")),
        "trusts": about(run.findings, "measurement"),
        "definitions": {name: text for name, text in wording.MEANINGS.items() if name in used},
        "rejected": outcomes(rejected),
        "not_fitted": [
            (subject(fitted), wording.model(fitted.model), fitted.reason) for fitted in run.models.not_fitted
        ],
        "columns": headings(run.statistics),
        "rows": len({case.key for case in run.statistics.primary}),
        "packed": as_json(packed(by_case(run.statistics, run.benchmarks))),
        "facts": provenance(run),
        "skipped": _left_out(run.record.skipped),
        "failures": _cases(run, [case for case in run.statistics.primary if not case.valid]),
        "cut_line": run.raw_samples.cut_line,
        "damaged": run.raw_samples.damaged,
    }


def _requests(run: Run) -> dict[str, str]:
    """Return for each case label the text that `scope run --case` reads."""
    return {case.label: case.request for case in run.statistics.primary if run.benchmarks[case.benchmark].native}


def _left_out(skipped: Sequence[Skipped]) -> list[tuple[str, str, str]]:
    """Return a row of benchmark, cases and reason for each benchmark and reason."""
    return [
        (benchmark, "; ".join(one.case or "all" for one in alike), reason)
        for (benchmark, reason), alike in grouped(skipped, lambda one: (one.benchmark, one.reason)).items()
    ]


def _modeled(run: Run) -> list[Modeled]:
    chosen = [fit for fit in run.models.fits if fit.chosen]
    return [
        Modeled(
            run.benchmarks[name],
            outcomes([fit for fit in chosen if fit.subject.benchmark == name]),
            filled(list(residuals.figures(run, name))),
        )
        for name in sorted(
            {fit.subject.benchmark for fit in chosen}, key=lambda name: (level_rank(level(name)), name)
        )
    ]


def _of_pairs(run: Run, benchmark: str) -> list[Figure | DotPlot]:
    return [*pairs.figures(run, benchmark), *random_pairs.figures(run, benchmark)]


def _levels(run: Run, elsewhere: Collection[str]) -> list[LevelSection]:
    """Return the levels with their figures, except figures that the report draws elsewhere."""
    names = sorted(
        {summary.benchmark for summary in run.statistics}, key=lambda name: (_pairs_first(run, name), name)
    )
    levels = sorted({level(name) for name in names}, key=level_rank)
    found = run.models.applications
    return [
        LevelSection(
            one,
            wording.LAYERS.get(one, one),
            [_section(run, name, elsewhere) for name in names if level(name) == one],
            applications.characterisation(found, run.benchmarks) if found and one == "application" else None,
        )
        for one in levels
    ]


def _speedups(run: Run) -> Iterator[Figure]:
    """Yield the speedups of all programs, programs with the most rank counts first."""
    names = dict.fromkeys(curve.subject.benchmark for curve in run.models.speedups)
    found = [figure for name in names for figure in speedup.figures(run, name)]
    yield from sorted(found, key=lambda one: -_counts(one))


def _counts(figure: Figure) -> int:
    """Return the number of rank counts in a speedup figure."""
    return len(figure.layout["xaxis"]["tickvals"])


def _pairs_first(run: Run, benchmark: str) -> int:
    """Sort point-to-point benchmarks before collectives, which are compared with them."""
    definitions = {case.definition for case in run.statistics.primary if case.benchmark == benchmark}
    return min((index for index, one in enumerate(wording.MEANINGS) if one in definitions), default=0)


def _section(run: Run, benchmark: str, elsewhere: Collection[str]) -> BenchmarkSection:
    figures = _of_pairs(run, benchmark) or [
        *curves.figures(run, benchmark),
        *side_by_side.choices(run, benchmark),
        *saturation.figures(run, benchmark),
        *ranks.figures(run, benchmark),
        *surfaces.figures(run, benchmark),
        *side_by_side.definitions(run, benchmark),
        *side_by_side.singles(run, benchmark),
        *phases.figures(run, benchmark),
        *phases_by_rank.figures(run, benchmark),
        *computation.figures(run, benchmark),
        *predictions.figures(run, benchmark),
        *operation_parts.figures(run, benchmark),
    ]
    mine = [case for case in run.statistics.primary if case.benchmark == benchmark]
    failed = _cases(run, [case for case in mine if not case.valid])
    number = len({case.key for case in mine})
    drawn = filled([figure for figure in figures if figure.key not in elsewhere])
    said = [*notes.switch_notes(run, benchmark)]
    said += [notes.loop_note(spread) for spread in run.models.loops if spread.subject.benchmark == benchmark]
    return BenchmarkSection(run.benchmarks[benchmark], drawn, failed, number, said)


def _cases(run: Run, failed: Sequence[Summary]) -> list[CaseRow]:
    """Return each case once, regardless of its number of metrics."""
    return list({row.label: row for row in rows(failed, run.benchmarks)}.values())
