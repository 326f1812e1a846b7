"""Declarations of what the native program does not measure: other programs, and mixes of jobs."""

from collections.abc import Sequence

from hpcscope.catalog.benchmark import Benchmark, Metric, Parameter


def foreign(
    name: str,
    title: str,
    summary: str,
    metrics: Sequence[Metric],
    parameters: Sequence[Parameter] = (),
    *,
    reason: str,
) -> Benchmark:
    """Return the declaration of a benchmark that the native program lacks; `reason` says what measures it."""
    return Benchmark(
        name=name,
        title=title,
        summary=summary,
        source="",
        specification="",
        available=False,
        reason=reason,
        family=name,
        parameters=list(parameters),
        metrics=list(metrics),
        sweeps=[],
    )
