"""A ReFrame check that measures the run's cases again and compares every result with the result of the run.

References are medians; a value may be worse by the two intervals combined, and at least by a minimum fraction.
https://reframe-hpc.readthedocs.io/en/stable/regression_test_api.html
"""

import json
import math
import pprint
import re
from collections.abc import Sequence
from typing import Any

from hpcscope.exchange.exports import only, performance
from hpcscope.findings.results import Run
from hpcscope.statistics.summary import Summary

_CHECK = '''\
"""Measures cases of Scope again and compares their results with those of an earlier run.

    reframe -c FILE -r                                   a test for each benchmark
    reframe -c FILE -r -S ScopeCheck.least_tolerance=0.2  tolerate 20 % in any value
    reframe -c FILE -r -S ScopeCheck.program=/path/scope

Written by `scope export reframe`.
"""

import json
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher

RUN = {run}
# By benchmark: the largest number of ranks, the cases as `scope run --case` reads them, and the figures:
# name, identity, median, unit, whether lower is better, and how much worse it may be (fraction; two intervals).
BENCHMARKS = {benchmarks}


@rfm.simple_test
class ScopeCheck(rfm.RunOnlyRegressionTest):
    descr = f"Scope, as in the run {{RUN}}"
    benchmark = parameter(list(BENCHMARKS))
    program = variable(str, value="scope")
    launches = variable(int, value={launches})
    least_tolerance = variable(float, value={tolerance})
    valid_systems = ["*"]
    valid_prog_environs = ["*"]

    @run_after("init")
    def describe(self):
        ranks, cases, figures = BENCHMARKS[self.benchmark]
        self.num_tasks = ranks
        words = [word for case in cases for word in ("--case", case)]
        self.executable = self.program
        self.executable_opts = [
            shlex.quote(word) for word in ["run", "--launches", str(self.launches), "--output", "run", *words]
        ]
        self.postrun_cmds = [f"{{self.program}} export jsonl run --output figures.jsonl"]
        self.reference = {{"*": {{figure[0]: self.limits(*figure[2:]) for figure in figures}}}}
        self.perf_variables = {{
            name: sn.make_performance_function(self.median(identity), unit)
            for name, identity, _, unit, _, _ in figures
        }}

    @run_before("run")
    def start_ranks_itself(self):
        self.job.launcher = getlauncher("local")()

    @sanity_function
    def every_case_has_a_right_result(self):
        known = self.figures()
        return sn.all(
            sn.assert_in(identity, known, f"{{name}}: no valid result")
            for name, identity, *_ in BENCHMARKS[self.benchmark][2]
        )

    def limits(self, median, unit, lower_is_better, share):
        share = max(share, self.least_tolerance)
        return (median, None, share, unit) if lower_is_better else (median, -min(share, 1.0), None, unit)

    @deferrable
    def median(self, identity):
        return self.figures()[identity]

    @deferrable
    def figures(self):
        with open(f"{{self.stagedir}}/figures.jsonl", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        keys = ("benchmark", "parameters", "ranks", "transport", "placement", "metric")
        return {{json.dumps([line[key] for key in keys], sort_keys=True): line["median"] for line in lines}}
'''
TOLERANCE = 0.05
"""Minimum tolerance as a fraction: a machine changes more between two runs than within one run."""


def write(runs: Sequence[Run]) -> str:
    """Return a check of the results of one run, without phases and counts."""
    each = only(runs, "reframe")
    benchmarks: dict[str, tuple[int, list[str], list[tuple[Any, ...]]]] = {}
    for case in performance(each):
        if case.median:
            most, cases, figures = benchmarks.get(case.benchmark, (1, [], []))
            cases += [] if case.request in cases else [case.request]
            lower = case.better == "lower"
            figures.append((_name(case), _identity(case), case.median, case.unit, lower, _share(case)))
            benchmarks[case.benchmark] = (max(most, case.ranks), cases, figures)
    return _CHECK.format(
        run=_python(each.record.name),
        benchmarks=_python(benchmarks),
        launches=max((case.launches for case in performance(each)), default=1),
        tolerance=TOLERANCE,
    )


def _name(case: Summary) -> str:
    """Return a name that ReFrame accepts in reports and options."""
    return re.sub(r"\W+", "_", f"{case.label} {case.metric}").strip("_")


def _identity(case: Summary) -> str:
    """Return the key by which the check finds the same value in the output of `scope export jsonl`."""
    where = [case.ranks, case.transport, str(case.placement), case.metric]
    return json.dumps([case.benchmark, case.parameters, *where], sort_keys=True)


def _share(case: Summary) -> float:
    """Return the fraction by which another median may be worse: half-widths add in quadrature."""
    worse = case.ci_high if case.better == "lower" else case.ci_low
    return 0.0 if worse is None or not case.median else round(math.sqrt(2) * abs(worse / case.median - 1), 4)


def _python(value: object) -> str:
    return pprint.pformat(value, width=110, sort_dicts=False)
