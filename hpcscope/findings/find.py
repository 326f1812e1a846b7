"""The engine of findings: collects what all kinds in a package find, worst first."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from hpcscope.findings.finding import Finding

Kind = Callable[[Any], list[Finding]]
"""A kind of finding: what `find` of one file yields, as a list; its argument holds the facts of its package."""

_MOST_EVIDENCE = 24
"""Maximum number of evidence items in a finding that several findings were merged into."""

_SEVERITIES = ["error", "warning", "advice", "information"]


@cache
def kinds(package: str) -> dict[str, Kind]:
    """Return the kinds in a package and its subpackages, by the names of their modules."""
    path = importlib.import_module(package).__path__
    modules = [importlib.import_module(info.name) for info in pkgutil.walk_packages(path, f"{package}.")]
    found = {module.__name__.rpartition(".")[2]: module.find for module in modules if hasattr(module, "find")}
    return {name: _listed(find) for name, find in found.items()}


def _listed(find: Callable[[Any], Iterable[Finding]]) -> Kind:
    return lambda facts: list(find(facts))


def find_all(package: str, facts: object) -> list[Finding]:
    """Return the findings of all kinds in a package, worst first."""
    return worst_first(finding for kind in kinds(package).values() for finding in kind(facts))


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Sort: cluster before measurement, then by severity, by `at_stake` and by the fraction that is lost."""
    return sorted(
        findings,
        key=lambda f: (
            f.about == "measurement",
            _SEVERITIES.index(f.severity),
            -(f.lost or 0.0 if f.at_stake is None else f.at_stake),
            f.code,
        ),
    )


def one_of_each_cause(ordered: Sequence[Finding]) -> list[Finding]:
    """Merge the findings with one cause on one host into the worst, with titles, evidence and trials of all."""
    causes: dict[tuple[object, ...], list[Finding]] = {}
    for index, finding in enumerate(ordered):
        causes.setdefault((finding.about, finding.cause or index, finding.where.get("host")), []).append(finding)
    return [_together(*alike) for alike in causes.values()]


def _together(worst: Finding, *others: Finding) -> Finding:
    if not others:
        return worst
    known = list(worst.evidence)
    known += [evidence for other in others for evidence in other.evidence if evidence not in known]
    trials = list(worst.trials)
    trials += [trial for other in others for trial in other.trials if trial not in trials]
    also = [other.title for other in others]
    return worst.model_copy(update={"also": also, "evidence": known[:_MOST_EVIDENCE], "trials": trials})
