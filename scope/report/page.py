"""The page: one HTML file that needs nothing else, drawn from a run directory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from scope import units
from scope.findings.finding import Finding
from scope.report import contents as run_contents
from scope.report import ladders, wording
from scope.report.contents import Contents
from scope.report.figure import Comparison, Figure, origins
from scope.report.figures import curves, distributions, phases, ranks, residuals, side_by_side
from scope.report.figures.residuals import subject
from scope.report.introduction import library, machine_name, moment, sentences
from scope.report.order import level, level_rank
from scope.report.parameters import Outcome, outcomes
from scope.report.provenance import Facts, provenance
from scope.report.rows import COLUMNS, Row, rows
from scope.rundirectory import write_text
from scope.samples.reader import read as read_samples
from scope.samples.samples import Samples
from scope.statistics.summary import Summary

_MODELS = 12
"""Cards of models that are open from the start."""
_FINDINGS = 12
"""Cards that are open from the start, unless more are grave."""


@dataclass(frozen=True)
class Section:
    """One benchmark on the page."""

    benchmark: str
    summary: str
    figures: list[Figure | Comparison]
    failed: list[Row]
    """Cases of it that gave no result."""


@dataclass(frozen=True)
class Level:
    """One layer of the cluster."""

    name: str
    title: str
    sections: list[Section]


def write(run: Path, output: Path | None = None) -> Path:
    """Draw the page of a run and return its path, `report.html` in the run directory unless told otherwise.

    Raises UsageError when a file of the run is missing or wrong, ScopeError when the page cannot be written.
    """
    text = render(run)
    target = output or run_contents.located(run).report
    write_text(target, text)
    return target


def render(run: Path) -> str:
    """Return the page of a run as HTML."""
    contents = run_contents.read(run)
    samples = read_samples(run)
    levels = _levels(contents)
    shown = _filled(list(distributions.figures(contents, samples)))
    left = list(residuals.figures(contents))
    listed = [figure for one in levels for section in one.sections for figure in section.figures] + shown + left
    plots = [figure for figure in listed if isinstance(figure, Figure)]
    return (
        _environment()
        .get_template("report.html")
        .render(
            **_head(contents, samples),
            levels=levels,
            distributions=shown,
            residuals=left,
            figures=_json({figure.key: {"data": figure.traces, "layout": figure.layout} for figure in plots}),
        )
    )


def _head(contents: Contents, samples: Samples) -> dict[str, Any]:
    """Return everything on the page that is not a figure."""
    used = {one.definition for one in contents.summaries}
    facts: Facts = provenance(contents, samples)
    fitted: list[Outcome] = outcomes(contents.models.fits)
    return {
        "contents": contents,
        "title": machine_name(contents.machine),
        "run_name": contents.run.name,
        "when": moment(contents.run.started_unix_s),
        "library": library(contents.machine),
        "sentences": sentences(contents),
        "ladders": contents.models.ladders,
        "origins": origins(contents.summaries),
        "findings": contents.findings,
        "shown_findings": _shown_at_once(contents.findings),
        "definitions": {name: text for name, text in wording.MEANINGS.items() if name in used},
        "outcomes": [one for one in fitted if one.chosen],
        "shown_models": _MODELS,
        "rejected": [one for one in fitted if not one.chosen],
        "not_fitted": [(subject(one), wording.model(one.model), one.reason) for one in contents.models.not_fitted],
        "columns": COLUMNS,
        "rows": rows(contents.summaries),
        "facts": facts,
        "skipped": contents.run.skipped,
        "failures": _cases([one for one in contents.headline if not one.valid]),
        "cut_line": samples.cut_line,
    }


def _shown_at_once(findings: Sequence[Finding]) -> int:
    """Show errors and warnings at once, and others up to a dozen; the rest waits behind a click."""
    grave = sum(one.severity in ("error", "warning") for one in findings)
    rest = sum(one.severity == "advice" for one in findings)
    shown = max(grave, min(_FINDINGS, grave + rest))
    return len(findings) if len(findings) <= shown + 1 else max(shown, 1)


def _levels(contents: Contents) -> list[Level]:
    names = sorted(
        {one.benchmark for one in contents.summaries}, key=lambda name: (_pairs_first(contents, name), name)
    )
    levels = sorted({level(name) for name in names}, key=level_rank)
    return [
        Level(
            one, wording.LAYERS.get(one, one), [_section(contents, name) for name in names if level(name) == one]
        )
        for one in levels
    ]


def _pairs_first(contents: Contents, benchmark: str) -> int:
    """Put what two processes do before what all do: the second is read against the first."""
    definitions = {one.definition for one in contents.headline if one.benchmark == benchmark}
    return min((index for index, one in enumerate(wording.MEANINGS) if one in definitions), default=0)


def _section(contents: Contents, benchmark: str) -> Section:
    figures: list[Figure | Comparison] = [
        *curves.figures(contents, benchmark),
        *side_by_side.choices(contents, benchmark),
        *ranks.figures(contents, benchmark),
        *side_by_side.definitions(contents, benchmark),
        *side_by_side.singles(contents, benchmark),
        *phases.figures(contents, benchmark),
    ]
    failed = [one for one in contents.headline if one.benchmark == benchmark and not one.valid]
    return Section(benchmark, contents.describe(benchmark), _filled(figures), _cases(failed))


def _filled(figures: list[Figure | Comparison]) -> list[Figure | Comparison]:
    """Let a plot that has no neighbour take the whole width."""
    filled: list[Figure | Comparison] = []
    alone = False
    for index, figure in enumerate(figures):
        if isinstance(figure, Comparison) or figure.wide:
            alone = False
            filled.append(figure)
            continue
        following = figures[index + 1] if index + 1 < len(figures) else None
        paired = isinstance(following, Figure) and not following.wide
        filled.append(figure if alone or paired else replace(figure, wide=True))
        alone = not alone and paired
    return filled


def _cases(failed: Sequence[Summary]) -> list[Row]:
    """List each case once, whatever the number of its metrics."""
    return list({row.label: row for row in rows(failed)}.values())


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("scope.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        plotly=_plotly,
        style=lambda: Markup(_template("report.css")),
        script=lambda: Markup(_template("report.js")),
        caption=ladders.caption,
        length=ladders.length,
        kept=ladders.kept,
        direction=wording.direction,
        definition=wording.definition,
        severities=wording.SEVERITIES,
        layers=wording.LAYERS,
    )
    environment.filters.update(
        interval=units.interval,
        quantity=units.quantity,
        share=units.share,
        code=_code,
        parameter=lambda value, name: units.parameter(name, value),
    )
    return environment


def _code(text: str) -> Markup:
    """Escape a text and set what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(p) if i % 2 else escape(p) for i, p in enumerate(parts)
    )


def _json(value: object) -> Markup:
    """Write JSON that may stand inside a script element: no tag of the data can end it."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _plotly() -> Markup:
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())


def _template(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")
