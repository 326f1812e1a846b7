"""Cases whose median never reached the target precision."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context, one_of_each_case
from scope.statistics.summary import Summary

NOISE = "node.noise"
"""It measures the cause of other cases' noise."""
WIDE = 0.1
"""Half width of the final interval over the median above which a figure cannot be trusted."""


def find(context: Context) -> list[Finding]:
    """Find cases that reached the target precision in no launch; one finding per benchmark."""
    benchmarks: dict[str, list[Summary]] = {}
    for summary in one_of_each_case(context.headlines):
        if summary.converged_share == 0 and summary.benchmark != NOISE:
            benchmarks.setdefault(summary.benchmark, []).append(summary)
    everything = one_of_each_case(context.headlines)
    counts = {name: sum(s.benchmark == name for s in everything) for name in benchmarks}
    return [_finding(name, noisy, counts[name]) for name, noisy in benchmarks.items()]


def _finding(name: str, noisy: list[Summary], count: int) -> Finding:
    worst = sorted(noisy, key=lambda s: -(s.relative_interval or 1.0))
    wide = worst[0].relative_interval
    spread = f"up to ±{units.share(wide)} over all launches" if wide is not None else "no interval at all"
    return Finding(
        code="noisy-case",
        about="measurement",
        cause="wide intervals",
        severity="warning" if wide is None or wide > WIDE else "information",
        title=f"{name}: {len(noisy)} of {count} cases did not reach the target precision ({spread})",
        where={"benchmark": name, "layer": name.split(".")[0]},
        evidence=[
            Evidence(
                what=f"half width of the interval over the median of {s.label}",
                value=s.relative_interval or "none",
            )
            for s in worst[:5]
        ],
        advice="Allow more time (`scope run --time SECONDS` or `--budget SECONDS`) and more launches "
        "(`--launches`), and look for other processes on the machine.",
    )
