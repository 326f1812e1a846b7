"""The declarations of a mix of jobs whose throughput is measured: its jobs, and the mix itself."""

from collections.abc import Sequence
from typing import Literal

from hpcscope.catalog.benchmark import Benchmark, Metric, MetricRole, Parameter, Role
from hpcscope.catalog.foreign import foreign

JOB, MIX = "application.job", "application.mix"
ALONE: Literal["nothing"] = "nothing"
TOGETHER: Literal["mix"] = "mix"
"""The values that say what a job ran together with."""
REASON = "is measured by `scope throughput`"


def benchmarks(mix: str, title: str, jobs: Sequence[tuple[str, str]]) -> list[Benchmark]:
    """Return the declarations of a mix and of its jobs.

    `mix` says what the mix consists of and `title` is its display name; each job is given in the same way.
    """
    beside = _choice("beside", "beside", {ALONE: "alone", TOGETHER: "in the mix"}, "call")
    return [
        foreign(
            JOB,
            "job",
            "one job, alone or in the mix, from the start of its launcher to the launcher's end",
            [
                _metric("turnaround_s", "s", "turnaround time"),
                _metric("slowdown", "1", "slowdown in the mix"),
                _metric("processor_s", "s", "CPU time", role="condition"),
            ],
            [_choice("job", "job", dict(jobs)), beside],
            reason=REASON,
        ),
        foreign(
            MIX,
            "mix of jobs",
            "all jobs of a mix side by side, from the start of the first job to the end of the last job",
            [
                _metric("jobs_per_hour", "jobs/h", "throughput", better="higher"),
                _metric("turnaround_mean_s", "s", "mean turnaround time"),
                _metric("utilization_share", "1", "utilization", better="higher"),
                _metric("efficiency_share", "1", "efficiency", better="higher"),
                _metric("cost_core_s", "core s", "cost of a job"),
            ],
            [_choice("mix", "mix", {mix: title})],
            reason=REASON,
        ),
    ]


def _choice(name: str, label: str, words: dict[str, str], role: Role = "problem") -> Parameter:
    return Parameter(
        name=name,
        type="choice",
        unit="",
        default=next(iter(words)),
        choices=list(words),
        label=label,
        words=list(words.values()),
        role=role,
        meaning="",
    )


def _metric(
    name: str, unit: str, label: str, better: Literal["lower", "higher"] = "lower", role: MetricRole = "result"
) -> Metric:
    return Metric(
        name=name, unit=unit, better=better, quantity="observed", definition="local", label=label, role=role
    )
