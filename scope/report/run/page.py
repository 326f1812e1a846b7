"""The report of a run: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scope.findings.finding import Finding, about
from scope.report import validity, wording
from scope.report.figure import Comparison, Figure, Table, origins
from scope.report.frame import as_json, environment, plot
from scope.report.order import level, level_rank
from scope.report.run import (
    applications,
    introduction,
    ladders,
    overview,
    readers,
    simulation,
    storage_tuning,
    tuning,
)
from scope.report.run import contents as run_contents
from scope.report.run.contents import Contents
from scope.report.run.figures import (
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
from scope.report.run.figures.residuals import subject
from scope.report.run.introduction import library, machine_name, moment
from scope.report.run.parameters import Outcome, outcomes
from scope.report.run.provenance import Facts, provenance
from scope.report.run.rows import Row, by_case, headings, packed, rows
from scope.report.run.simulation import Simulated
from scope.rundirectory import Skipped, write_text
from scope.samples.reader import read as read_samples
from scope.samples.samples import Samples
from scope.statistics.summary import Summary

_CAUSES = 5
"""Causes on the first screen."""
_SPEEDUPS = 6
"""Curves of speed-ups that stand open."""
_CURVE = 3
"""Numbers of processes that make a curve."""
_SHOWN = 3
"""Findings of one kind and severity that are shown; the others are folded."""


@dataclass(frozen=True)
class Section:
    """One benchmark on the page."""

    benchmark: str
    title: str
    summary: str
    figures: list[Figure | Comparison]
    failed: list[Row]
    """Its cases without a result."""
    cases: int

    @property
    def unavailable(self) -> bool:
        """Whether all cases without a result were unavailable, so that nothing failed."""
        return all(row.reason.startswith("unavailable") for row in self.failed)


@dataclass(frozen=True)
class Level:
    """One level of benchmarks."""

    name: str
    title: str
    sections: list[Section]
    characterisation: Table | None = None
    """Machine-independent characteristics; of applications only."""


@dataclass(frozen=True)
class Group:
    """Findings of one kind and severity, worst first: some shown, the others folded."""

    code: str
    shown: list[Finding]
    others: list[Finding]


@dataclass(frozen=True)
class Modeled:
    """The models of one benchmark."""

    benchmark: str
    title: str
    summary: str
    outcomes: list[Outcome]
    residuals: list[Figure | Comparison]


@dataclass(frozen=True)
class Drawn:
    """What the page shows as figures, by its place."""

    simulated: Simulated | None
    first: list[Figure | Comparison]
    speedups: list[Figure]
    collectives: list[Figure | Comparison]
    roofline: list[Figure | Comparison]
    levels: list[Level]
    strip: list[Figure | Comparison]
    distributions: list[Figure | Comparison]
    models: list[Modeled]

    @property
    def plots(self) -> list[Figure]:
        """Those that a script draws."""
        sections = [figure for one in self.levels for section in one.sections for figure in section.figures]
        listed = [
            *(self.simulated.figures if self.simulated else ()),
            *self.first,
            *self.speedups,
            *self.collectives,
            *self.roofline,
            *sections,
            *self.strip,
        ]
        listed += [*self.distributions, *(figure for one in self.models for figure in one.residuals)]
        return [figure for figure in listed if isinstance(figure, Figure)]


def write(run: Path, output: Path | None = None, samples: Samples | None = None) -> Path:
    """Write the report of a run and return its path, by default `report.html` in the run directory.

    `samples` are those of the run where they have been read before.

    Raises UsageError when a file of the run is missing or wrong, ScopeError when the page cannot be written.
    """
    text = render(run, samples)
    target = output or run_contents.located(run).report
    write_text(target, text)
    return target


def render(run: Path, samples: Samples | None = None) -> str:
    """Return the report of a run as HTML; `samples` as of `write`."""
    contents = run_contents.read(run)
    samples = samples or read_samples(run, contents.catalog)
    drawn = _drawn(contents, samples)
    curved = [one for one in drawn.speedups if _counts(one) >= _CURVE][:_SPEEDUPS]
    compared = list(speedup.compared(contents))
    tuned = tuning.chosen(contents.directory, contents.models) or storage_tuning.chosen(contents.directory)
    trials = [tuned.figure] if tuned and isinstance(tuned.figure, Figure) else []
    frame = environment()
    frame.globals.update(
        caption=ladders.caption,
        length=ladders.length,
        retained_share=ladders.retained_share,
        exceeds=ladders.exceeds,
    )
    return frame.get_template("report.html").render(
        **_head(contents, samples),
        simulated=drawn.simulated,
        first=drawn.first,
        tuned=tuned,
        speedups=filled([*compared, *curved]),
        more_speedups=filled([one for one in drawn.speedups if one not in curved]),
        collectives=drawn.collectives,
        roofline=drawn.roofline,
        levels=drawn.levels,
        strip=drawn.strip,
        changed=contents.course is not None and contents.course.changes > 0,
        distributions=drawn.distributions,
        models=drawn.models,
        figures=as_json({figure.key: plot(figure) for figure in [*trials, *drawn.plots]}),
    )


def figures(contents: Contents, samples: Samples) -> list[Figure]:
    """Return the figures of the page that its script draws, in the order of the page."""
    return _drawn(contents, samples).plots


def _drawn(contents: Contents, samples: Samples) -> Drawn:
    return Drawn(
        simulated=simulation.section(contents),
        first=filled(list(messages.figures(contents))),
        speedups=list(_speedups(contents)),
        collectives=filled(list(collectives.figures(contents))),
        roofline=filled(list(roofline.figures(contents))),
        levels=_levels(contents),
        strip=filled(list(course.figures(contents, samples))),
        distributions=filled(list(distributions.figures(contents, samples))),
        models=_modeled(contents),
    )


def _head(contents: Contents, samples: Samples) -> dict[str, Any]:
    """Return everything on the page but the figures."""
    used = {one.definition for one in contents.summaries}
    facts: Facts = provenance(contents, samples)
    cluster = about(contents.findings, "cluster")
    causes = [one for one in cluster if one.severity != "information"][:_CAUSES]
    main = next(iter(overview.main_ladders(contents)), next(iter(contents.models.ladders), None))
    rejected = [fit for fit in contents.models.fits if not fit.chosen]
    return {
        "contents": contents,
        "title": machine_name(contents.machine),
        "run_name": contents.run.name,
        "when": moment(contents.run.started_unix_s),
        "library": library(contents.machine),
        "cluster": introduction.cluster(contents),
        "measured": introduction.measured(contents),
        "cautions": introduction.cautions(contents),
        "tiles": overview.tiles(contents),
        "views": readers.views(contents),
        "trust_facts": overview.trust(contents, samples),
        "main_ladder": main,
        "ladders": [one for one in contents.models.ladders if one is not main],
        "requests": _requests(contents),
        "origins": origins(contents.summaries),
        "interval_notes": validity.footnotes(contents.headline),
        "findings": cluster,
        "causes": causes,
        "others": kinds([one for one in cluster if one not in causes]),
        "trust": kinds(about(contents.findings, "measurement")),
        "trusts": about(contents.findings, "measurement"),
        "definitions": {name: text for name, text in wording.MEANINGS.items() if name in used},
        "rejected": outcomes(rejected),
        "not_fitted": [(subject(one), wording.model(one.model), one.reason) for one in contents.models.not_fitted],
        "columns": headings(contents.summaries),
        "rows": len({one.key for one in contents.headline}),
        "packed": as_json(packed(by_case(contents.summaries, contents.catalog))),
        "facts": facts,
        "skipped": _left_out(contents.run.skipped),
        "failures": _cases(contents, [one for one in contents.headline if not one.valid]),
        "cut_line": samples.cut_line,
        "damaged": samples.damaged,
    }


def _requests(contents: Contents) -> dict[str, str]:
    """Return each case by its label, as `scope run --case` reads it."""
    return {one.label: one.request for one in contents.headline if contents.catalog[one.benchmark].native}


def _left_out(skipped: Sequence[Skipped]) -> list[tuple[str, str, str]]:
    """Return benchmark, cases and reason: a row for each benchmark and reason."""
    rows: dict[tuple[str, str], list[str]] = {}
    for one in skipped:
        rows.setdefault((one.benchmark, one.reason), []).append(one.case or "all")
    return [(benchmark, "; ".join(cases), reason) for (benchmark, reason), cases in rows.items()]


def kinds(findings: Sequence[Finding]) -> list[Group]:
    """Group findings by severity and kind, in the order of the worst of each kind."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        found.setdefault((one.severity, one.code), []).append(one)
    return [
        Group(code, alike, [])
        if severity == "error" or len(alike) <= _SHOWN + 1
        else Group(code, alike[:_SHOWN], alike[_SHOWN:])
        for (severity, code), alike in found.items()
    ]


def _modeled(contents: Contents) -> list[Modeled]:
    chosen = [fit for fit in contents.models.fits if fit.chosen]
    return [
        Modeled(
            name,
            contents.catalog[name].title,
            contents.describe(name),
            outcomes([fit for fit in chosen if fit.subject.benchmark == name]),
            filled(list(residuals.figures(contents, name))),
        )
        for name in sorted(
            {fit.subject.benchmark for fit in chosen}, key=lambda name: (level_rank(level(name)), name)
        )
    ]


def _levels(contents: Contents) -> list[Level]:
    names = sorted(
        {one.benchmark for one in contents.summaries}, key=lambda name: (_pairs_first(contents, name), name)
    )
    levels = sorted({level(name) for name in names}, key=level_rank)
    return [
        Level(
            one,
            wording.LAYERS.get(one, one),
            [_section(contents, name) for name in names if level(name) == one],
            _characterisation(contents) if one == "application" else None,
        )
        for one in levels
    ]


def _characterisation(contents: Contents) -> Table | None:
    found = contents.models.applications
    return applications.characterisation(found, contents.catalog) if found else None


def _speedups(contents: Contents) -> Iterator[Figure]:
    """Yield the speed-ups of all programs, those on the most numbers of processes first."""
    names = dict.fromkeys(one.subject.benchmark for one in contents.models.speedups)
    found = [figure for name in names for figure in speedup.figures(contents, name)]
    yield from sorted(found, key=lambda one: -_counts(one))


def _counts(figure: Figure) -> int:
    """Return the numbers of processes of a speed-up."""
    return len(figure.layout["xaxis"]["tickvals"])


def _pairs_first(contents: Contents, benchmark: str) -> int:
    """Sort point-to-point benchmarks before collectives, which are compared with them."""
    definitions = {one.definition for one in contents.headline if one.benchmark == benchmark}
    return min((index for index, one in enumerate(wording.MEANINGS) if one in definitions), default=0)


def _section(contents: Contents, benchmark: str) -> Section:
    figures: list[Figure | Comparison] = [
        *pairs.figures(contents, benchmark),
        *random_pairs.figures(contents, benchmark),
    ] or [
        *curves.figures(contents, benchmark),
        *side_by_side.choices(contents, benchmark),
        *saturation.figures(contents, benchmark),
        *ranks.figures(contents, benchmark),
        *surfaces.figures(contents, benchmark),
        *side_by_side.definitions(contents, benchmark),
        *side_by_side.singles(contents, benchmark),
        *phases.figures(contents, benchmark),
        *phases_by_rank.figures(contents, benchmark),
        *computation.figures(contents, benchmark),
        *predictions.figures(contents, benchmark),
        *operation_parts.figures(contents, benchmark),
    ]
    mine = [one for one in contents.headline if one.benchmark == benchmark]
    failed = _cases(contents, [one for one in mine if not one.valid])
    number = len({one.key for one in mine})
    declared = contents.catalog[benchmark]
    return Section(benchmark, declared.title, declared.summary, filled(figures), failed, number)


def filled(figures: list[Figure | Comparison]) -> list[Figure | Comparison]:
    """Widen figures that have no neighbor."""
    placed: list[Figure | Comparison] = []
    second = False
    for index, figure in enumerate(figures):
        if figure.wide:
            second = False
            placed.append(figure)
            continue
        following = figures[index + 1] if index + 1 < len(figures) else None
        paired = following is not None and not following.wide
        placed.append(figure if second or paired else replace(figure, wide=True))
        second = not second and paired
    return placed


def _cases(contents: Contents, failed: Sequence[Summary]) -> list[Row]:
    """Return each case once, for any number of metrics."""
    return list({row.label: row for row in rows(failed, contents.catalog)}.values())
