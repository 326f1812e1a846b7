"""Kinds of findings about a monitored program: one file each, found by walking this package, worst first."""

from __future__ import annotations

import importlib
import pkgutil

from scope.findings.finding import Finding
from scope.findings.profile.facts import Facts

_SEVERITIES = ["error", "warning", "advice", "information"]


def find_all(facts: Facts) -> list[Finding]:
    """Return what all kinds find, worst first; of time lost only where the program ran long enough to tell."""
    names = [info.name for info in pkgutil.iter_modules(__path__)]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    found = [finding for module in modules if hasattr(module, "find") for finding in module.find(facts)]
    if not facts.telling:
        found = [one for one in found if one.lost is None]
    return sorted(found, key=lambda f: (_SEVERITIES.index(f.severity), -(f.lost or 0.0), f.code))
