"""Cases that the user named and that have no result: the run has failed, even if all its other cases are well."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hpcscope.catalog import catalog as catalogs
from hpcscope.catalog.catalog import Catalog
from hpcscope.errors import UsageError
from hpcscope.plan import experiment as asking
from hpcscope.plan.case import Case
from hpcscope.plan.sweep import values_of
from hpcscope.rundirectory import RunDirectory, RunFile, read_json
from hpcscope.samples.reader import read as read_samples
from hpcscope.samples.samples import CaseSamples
from hpcscope.settings.selection import Selection


def without_result(run: Path) -> list[str]:
    """Return `benchmark: reason` for each `[[case]]`, and each benchmark named in full, without any result.

    One case with a result is enough: some protocols of a list may not exist between these hosts.
    """
    directory = RunDirectory(run)
    experiment = asking.resolve(directory.experiment, {})
    asked = [*experiment.case, *(Selection(benchmark=name) for name in experiment.only if "*" not in name)]
    if not asked or not directory.samples.exists():
        return []
    catalog = catalogs.read(directory.benchmarks)
    launches = list(read_samples(run, catalog).by_case().values())
    skipped = {case.benchmark: case.reason for case in read_json(directory.run, RunFile).skipped}
    reasons = [
        _why_none(selection, launches, catalog, skipped.get(selection.benchmark, "")) for selection in asked
    ]
    return [reason for reason in dict.fromkeys(reasons) if reason]


def _why_none(asked: Selection, launches: Sequence[list[CaseSamples]], catalog: Catalog, skipped: str) -> str:
    """Return why no case of a selection could run; empty if one ran, well or not."""
    chosen = [cases for cases in launches if _is_of(cases[0].case, asked, catalog)]
    if not chosen:
        return f"{asked.benchmark}: {skipped}" if skipped else ""
    if any(case.status != "unavailable" for cases in chosen for case in cases):
        return ""
    return f"{asked.benchmark}: {chosen[0][0].reason}"


def _is_of(case: Case, asked: Selection, catalog: Catalog) -> bool:
    """Return whether a case is part of a selection, by the parameters that the selection names."""
    benchmark = catalog.get(case.benchmark)
    if case.benchmark != asked.benchmark or benchmark is None:
        return False
    for name, words in asked.factors.items():
        parameter = benchmark.parameter.get(name)
        if parameter is None:
            continue  # ranks, transport, placement: the plan gives its own reasons for leaving them out
        with suppress(UsageError):
            values = [value for word in words for value in values_of(word, parameter, case.ranks, "")]
            if case.parameters.get(name, parameter.default) not in values:
                return False
    return True
