"""The report of a run: one self-contained HTML file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from scope import units
from scope.findings.finding import Finding, about
from scope.report import validity, wording
from scope.report.figure import Comparison, Figure, Table, origins
from scope.report.order import level, level_rank
from scope.report.run import applications, ladders
from scope.report.run import contents as run_contents
from scope.report.run.contents import Contents
from scope.report.run.figures import (
    computation,
    course,
    curves,
    distributions,
    operation_parts,
    pairs,
    phases,
    phases_by_rank,
    predictions,
    ranks,
    residuals,
    side_by_side,
    speedup,
    surfaces,
)
from scope.report.run.figures.residuals import subject
from scope.report.run.introduction import cautions, library, machine_name, moment, sentences
from scope.report.run.parameters import Outcome, outcomes
from scope.report.run.provenance import Facts, provenance
from scope.report.run.rows import COLUMNS, Row, packed, rows
from scope.rundirectory import Skipped, write_text
from scope.samples.reader import read as read_samples
from scope.samples.samples import Samples
from scope.statistics.summary import Summary

_OPEN = 60
"""With more figures the sections of the benchmarks are closed at first."""
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
class Modelled:
    """The models of one benchmark."""

    benchmark: str
    summary: str
    outcomes: list[Outcome]
    residuals: list[Figure | Comparison]


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
    levels = _levels(contents)
    shown = filled(list(distributions.figures(contents, samples)))
    strip = filled(list(course.figures(contents, samples)))
    models = _modelled(contents)
    drawn = [figure for one in levels for section in one.sections for figure in section.figures]
    listed = [*drawn, *strip, *shown, *(figure for one in models for figure in one.residuals)]
    plots = [figure for figure in listed if isinstance(figure, Figure)]
    return (
        environment()
        .get_template("report.html")
        .render(
            **_head(contents, samples),
            levels=levels,
            strip=strip,
            changed=contents.course is not None and contents.course.changes > 0,
            distributions=shown,
            models=models,
            open=len(drawn) <= _OPEN,
            figures=as_json({figure.key: plot(figure) for figure in plots}),
        )
    )


def plot(figure: Figure) -> dict[str, Any]:
    """Return a figure as the page's script reads it."""
    surface = {"surface": figure.surface} if figure.surface else {}
    return {"data": figure.traces, "layout": figure.layout} | surface


def _head(contents: Contents, samples: Samples) -> dict[str, Any]:
    """Return everything on the page but the figures."""
    used = {one.definition for one in contents.summaries}
    facts: Facts = provenance(contents, samples)
    cluster = about(contents.findings, "cluster")
    rejected = [fit for fit in contents.models.fits if not fit.chosen]
    return {
        "contents": contents,
        "title": machine_name(contents.machine),
        "run_name": contents.run.name,
        "when": moment(contents.run.started_unix_s),
        "library": library(contents.machine),
        "sentences": sentences(contents),
        "cautions": cautions(contents),
        "ladders": contents.models.ladders,
        "origins": origins(contents.summaries),
        "interval_notes": validity.footnotes(contents.headline),
        "findings": cluster,
        "grave": kinds([one for one in cluster if one.severity != "information"]),
        "rest": kinds([one for one in cluster if one.severity == "information"]),
        "trust": kinds(about(contents.findings, "measurement")),
        "trusts": about(contents.findings, "measurement"),
        "definitions": {name: text for name, text in wording.MEANINGS.items() if name in used},
        "rejected": outcomes(rejected),
        "not_fitted": [(subject(one), wording.model(one.model), one.reason) for one in contents.models.not_fitted],
        "columns": COLUMNS,
        "rows": len(contents.summaries),
        "packed": as_json(packed(rows(contents.summaries, contents.catalog))),
        "facts": facts,
        "skipped": _left_out(contents.run.skipped),
        "failures": _cases(contents, [one for one in contents.headline if not one.valid]),
        "cut_line": samples.cut_line,
        "damaged": samples.damaged,
    }


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


def _modelled(contents: Contents) -> list[Modelled]:
    chosen = [fit for fit in contents.models.fits if fit.chosen]
    return [
        Modelled(
            name,
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


def _pairs_first(contents: Contents, benchmark: str) -> int:
    """Sort point-to-point benchmarks before collectives, which are compared with them."""
    definitions = {one.definition for one in contents.headline if one.benchmark == benchmark}
    return min((index for index, one in enumerate(wording.MEANINGS) if one in definitions), default=0)


def _section(contents: Contents, benchmark: str) -> Section:
    figures: list[Figure | Comparison] = list(pairs.figures(contents, benchmark)) or [
        *curves.figures(contents, benchmark),
        *side_by_side.choices(contents, benchmark),
        *ranks.figures(contents, benchmark),
        *surfaces.figures(contents, benchmark),
        *side_by_side.definitions(contents, benchmark),
        *side_by_side.singles(contents, benchmark),
        *phases.figures(contents, benchmark),
        *phases_by_rank.figures(contents, benchmark),
        *speedup.figures(contents, benchmark),
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
    """Widen figures that have no neighbour."""
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


def environment() -> Environment:
    """Return the environment of templates with figures."""
    found = Environment(
        loader=PackageLoader("scope.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(
        plotly=_plotly,
        style=lambda: Markup(_template("report.css")),
        script=lambda: Markup(_template("report.js")),
        caption=ladders.caption,
        length=ladders.length,
        retained_share=ladders.retained_share,
        direction=wording.direction,
        definition=wording.definition,
        severities=wording.SEVERITIES,
        layers=wording.LAYERS,
        introductions=wording.INTRODUCTIONS,
        count=wording.count,
        mixed_mark=validity.MIXED,
        mixed_note=validity.MIXED_NOTE,
    )
    found.filters.update(
        interval=units.interval,
        quantity=units.quantity,
        share=units.share,
        code=_code,
        parameter=lambda value, name: units.parameter(name, value),
    )
    return found


def _code(text: str) -> Markup:
    """Escape a text and set text between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(p) if i % 2 else escape(p) for i, p in enumerate(parts)
    )


def as_json(value: object) -> Markup:
    """Return JSON that is safe inside a script element: no tag in the data can close it."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _plotly() -> Markup:
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())


def _template(name: str) -> str:
    return (Path(__file__).parents[1] / "templates" / name).read_text(encoding="utf-8")
