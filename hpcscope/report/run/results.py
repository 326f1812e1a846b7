"""Which results of a run the report shows, and in which order."""

from hpcscope.catalog.catalog import PROGRAM_LEVELS, Catalog
from hpcscope.findings.results import Run
from hpcscope.plan.case import Case
from hpcscope.report.order import case_key, level
from hpcscope.statistics.summary import Summary
from hpcscope.units import is_share

PHASES = ("compute_s", "distribute_s", "exchange_s", "collect_s", "communicate_s", "initialize_s", "idle_s")
"""Metrics that are parts of a program's time, in reading order; `communicate_s` is the sum of three of them."""


def results(run: Run, benchmark: str) -> list[Summary]:
    """Return the valid headline values of a benchmark that are results, not counts, conditions or phases.

    Phases are results if they are not drawn as parts of a whole. Times and rates of 0 are not results; fractions
    of 0 are. A collective on one rank moves no data: its values are only in the table of all cases.
    """
    return [
        summary
        for summary in run.headlines
        if summary.benchmark == benchmark
        and _is_result(run.benchmarks, summary)
        and ((summary.median or 0.0) > 0 or is_share(summary.metric))
        and (summary.ranks > 1 or summary.definition != "global" or level(benchmark) != "mpi")
    ]


def _is_result(catalog: Catalog, summary: Summary) -> bool:
    declared = catalog.metric(summary.benchmark, summary.metric)
    role = declared.role if declared else "result"
    return role == "result" or (role == "phase" and not phases(catalog, summary.benchmark))


def phases(catalog: Catalog, benchmark: str) -> list[str]:
    """Return the metrics that are parts of a program's time, in reading order; empty if fewer than two."""
    declared = catalog[benchmark]
    names = [name for name in PHASES if name in declared.metric and declared.metric[name].role == "phase"]
    return names if declared.level in PROGRAM_LEVELS and len(names) > 1 else []


def has_default_problem(catalog: Catalog, case: Case) -> bool:
    """Return whether a case solves its benchmark's default problem: double precision, uniform keys."""
    defaults = catalog.defaults(case.benchmark)
    problem = catalog.of_role(case.benchmark, case.parameters, "problem")
    return all(defaults.get(name) == value for name, value in problem.items())


def choice_key(catalog: Catalog, case: Case) -> tuple[object, ...]:
    """Sort cases by the declared order of each parameter's choices (standard send mode first), then by value."""
    choices = (
        parameter.choices.index(str(case.parameters[parameter.name]))
        if case.parameters.get(parameter.name) in parameter.choices
        else -1
        for parameter in catalog[case.benchmark].parameters
    )
    return *choices, case_key(case)
