"""Ranks that create, look up or remove files in one directory hinder each other."""

from hpcscope.catalog.benchmark import Metric
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import written
from hpcscope.findings.run.storage.file_cases import LEVEL, FileLoss, most_lost, pairs, where

PARAMETER = "folder"
AT_LEAST = 0.5


def find(run: Run) -> list[Finding]:
    """Find the operation that loses most, significantly over half, if all ranks share one directory."""
    losses = [
        (loss, metric)
        for metric in _metrics(run)
        for loss in most_lost(
            [pair for pair in pairs(run, PARAMETER, "shared", "own", metric.name) if pair[0].ranks > 1], AT_LEAST
        )
    ]
    return [_finding(run, *max(losses, key=lambda each: each[0].lost))] if losses else []


def _finding(run: Run, loss: FileLoss, metric: Metric) -> Finding:
    return Finding(
        code="metadata-storm",
        severity="advice",
        title=(
            f"{loss.slow.label}: {metric.label} {written(loss.slow)}, only {loss.kept} of the "
            f"{written(loss.fast)} that were measured with a directory for each rank"
        ),
        where=where(loss.slow),
        evidence=run.evidence(loss.slow, loss.fast),
        advice=(
            "Give each rank, or each small group of ranks, its own directory, and keep many small records in "
            "one file instead of many files."
        ),
        lost=loss.lost,
    )


def _metrics(run: Run) -> list[Metric]:
    """Return the rates of file operations in benchmarks whose ranks may share a directory."""
    found = {
        metric.name: metric
        for benchmark in run.benchmarks
        if benchmark.level == LEVEL and PARAMETER in benchmark.parameter
        for metric in benchmark.metrics
        if metric.role == "result" and metric.better == "higher"
    }
    return list(found.values())
