"""Other processes were running before the run."""

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.names import several

QUIET = 0.25
"""Fraction of the processors that may be busy before the run; half a process is always tolerated."""

MOST_SHOWN = 8
"""Maximum number of hosts whose run queues are shown as evidence, the busiest first."""


def find(run: Run) -> Found:
    """Find hosts with other processes in the run queue before the run; one finding for all of them."""
    queues = {host.name: host.run_queue or 0.0 for host in run.machine.hosts}
    usable = {host.name: max(len(host.processor.usable), 1) for host in run.machine.hosts}
    busy = {name: queue for name, queue in queues.items() if queue > max(0.5, QUIET * usable[name])}
    if not busy:
        return
    worst = max(busy, key=lambda name: busy[name] / usable[name])
    yield Finding(
        code="machine-busy",
        about="measurement",
        severity="warning" if busy[worst] >= usable[worst] else "advice",
        title=f"{_others(busy[worst])} running on {worst} before the run began",
        where={"host": several(list(busy))},
        evidence=[
            Evidence(what=f"run queue of {name}", value=busy[name])
            for name in sorted(busy, key=lambda name: -busy[name] / usable[name])[:MOST_SHOWN]
        ],
        advice="Repeat the run on a quiet or reserved machine; the intervals show how large the effect was.",
    )


def _others(queue: float) -> str:
    return "1 other process was" if queue == 1 else f"{queue:.3g} other processes were"
