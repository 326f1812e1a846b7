"""What all reports share: the frame with its style and scripts, and how templates format values."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import BytecodeCache, Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from hpcscope import units
from hpcscope.build.cmake import cache_directory, private_cache
from hpcscope.errors import ScopeError
from hpcscope.report import validity, wording
from hpcscope.report.figure import DotPlot, Figure
from hpcscope.version import VERSION
from hpcscope.visible import visible


class _Compiled(FileSystemBytecodeCache):
    """Cache of compiled templates; a full disk does not prevent a report from being written."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store a compiled template."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


@cache
def _compiled() -> BytecodeCache | None:
    """Return this version's compiled templates in the user's cache; None if the cache is not usable."""
    folder = cache_directory() / "templates"
    try:
        private_cache(folder)
    except (OSError, ScopeError):
        return None
    return _Compiled(str(folder), f"{VERSION}-%s")


_SCRIPTS = {
    "script": ("figures.js", "report.js"),
    "site_script": ("site/site.js",),
    "timeline_script": ("timeline.js",),
}
"""All scripts in reports, by their names in templates."""


def environment() -> Environment:
    """Return the environment of the templates; `frame.html` is the frame of every report."""
    found = Environment(
        loader=PackageLoader("hpcscope.report"),
        autoescape=True,
        bytecode_cache=_compiled(),
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(
        style=lambda: Markup(template_text("report.css")),
        own_scripts=own_scripts,
        **{name: lambda files=files: Markup(_script(files)) for name, files in _SCRIPTS.items()},
        version=VERSION,
        direction=wording.direction,
        definition=wording.definition,
        severities=wording.SEVERITIES,
        layers=wording.LAYERS,
        introductions=wording.INTRODUCTIONS,
        count=units.count,
        mixed_mark=validity.MIXED,
        mixed_note=validity.MIXED_NOTE,
    )
    found.filters.update(
        interval=units.interval,
        quantity=units.quantity,
        share=units.share,
        named=units.named,
        code=_code,
        unbroken=lambda text: re.sub(r"(?<=[\dI])-(?=[\dI])", "\u2011", text.replace(" %", "\u00a0%")),
        parameter=lambda value, name: units.parameter(name, value),
    )
    return found


def page(template: str, **values: Any) -> str:
    """Return a page made from a template."""
    return environment().get_template(template).render(**values)


def own_scripts() -> str:
    """Return the hashes of the scripts that a page may run, as sources of a Content Security Policy."""
    digests = (hashlib.sha256(_script(files).encode()).digest() for files in _SCRIPTS.values())
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def _script(files: Iterable[str]) -> str:
    return "\n".join(template_text(name) for name in files)


def as_json(value: object) -> Markup:
    """Return JSON that is safe inside a script element: no tag in the data can close it."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def plots(figures: Iterable[Figure | DotPlot]) -> Markup:
    """Return the figures that the script of a report draws, by their keys; dot plots need no script."""
    return as_json(
        {
            figure.key: {"data": figure.traces, "layout": figure.layout}
            | ({"surface": figure.surface} if figure.surface else {})
            for figure in figures
            if isinstance(figure, Figure)
        }
    )


def _code(text: str) -> Markup:
    """Escape a text and mark up text between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(p) if i % 2 else escape(p) for i, p in enumerate(parts)
    )


def template_text(name: str) -> str:
    """Return the text of a file among the templates, such as a script."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")
