"""The engine of findings: collects what all kinds in a package find, worst first."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

from scope.findings.finding import Finding

Kind = Callable[[Any], list[Finding]]
"""A kind of finding: the function `find` of one file; its argument holds the facts that its package is about."""

_SEVERITIES = ["error", "warning", "advice", "information"]


@cache
def kinds(package: str) -> dict[str, Kind]:
    """Return the kinds in a package and the packages inside it, by the names of their modules."""
    path = importlib.import_module(package).__path__
    modules = [importlib.import_module(info.name) for info in pkgutil.walk_packages(path, f"{package}.")]
    return {module.__name__.rpartition(".")[2]: module.find for module in modules if hasattr(module, "find")}


def find_all(package: str, facts: object) -> list[Finding]:
    """Return the findings of all kinds in a package, worst first: by severity, then by the share that is lost."""
    found = [finding for kind in kinds(package).values() for finding in kind(facts)]
    return sorted(found, key=lambda f: (_SEVERITIES.index(f.severity), -(f.lost or 0.0), f.code))
