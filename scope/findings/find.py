"""All kinds of findings, found by walking the package, worst first."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

import scope.findings
from scope.findings.context import Context
from scope.findings.finding import Finding

Kind = Callable[[Context], list[Finding]]
"""A kind of finding: the function `find` of one file of this package."""

_SEVERITIES = ["error", "warning", "advice", "information"]


@cache
def all_kinds() -> dict[str, Kind]:
    """Return the kinds by the names of their files."""
    names = [info.name for info in pkgutil.iter_modules(scope.findings.__path__)]
    modules = {name: importlib.import_module(f"scope.findings.{name}") for name in names}
    return {name: module.find for name, module in modules.items() if hasattr(module, "find")}


def find_all(context: Context) -> list[Finding]:
    """Return what all kinds find, worst first: by severity, then by the share that is lost."""
    found = [finding for kind in all_kinds().values() for finding in kind(context)]
    return sorted(found, key=lambda f: (_SEVERITIES.index(f.severity), -(f.lost or 0.0), f.code))
