"""First values of a run that is in progress: after the first launch of each batch, before there are intervals."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpcscope import units
from hpcscope.errors import ScopeError
from hpcscope.launch.supervision.supervisor import Listener
from hpcscope.plan.case import Batch, Key
from hpcscope.plan.plan import Launch

if TYPE_CHECKING:
    from hpcscope.models.ladder.rung import Ladder

MOST_LINES = 3


class WithFirstValues:
    """Wraps a listener and tells it the first values too; no rank runs while they are derived."""

    def __init__(self, listener: Listener, directory: Path, last: int) -> None:
        """Wrap a listener; tell no first values after launch number `last`, when everything is shown anyway."""
        self._listener, self._directory, self._last = listener, directory, last
        self._seen: set[Batch] = set()
        self._told: list[str] = []

    def __getattr__(self, name: str) -> Any:
        """Forward all other events to the listener."""
        return getattr(self._listener, name)

    def launch_ended(self, launch: Launch, failure: str) -> None:
        """Forward the event; after the first launch of a batch, tell the first values."""
        self._listener.launch_ended(launch, failure)
        if failure or launch.batch in self._seen or launch.number >= self._last:
            return
        self._seen.add(launch.batch)
        try:
            lines = so_far(self._directory)
        except ScopeError:  # reported at the end of the run; measuring goes on
            return
        if lines and lines != self._told:
            self._listener.values_known(lines)
        self._told = lines


def so_far(directory: Path) -> list[str]:
    """Return a line for each of the first ladders of the samples so far, or for each of a few results."""
    from hpcscope.findings.results import Run
    from hpcscope.models.ladder.ladder import ladders
    from hpcscope.statistics.summarise import summarise

    run = Run(directory)
    run = run.replaced(statistics=summarise(run.raw_samples, run.benchmarks))
    compared = [line for ladder in ladders(run.measurements) if (line := _line(ladder))]
    few: dict[Key, str] = {}
    for result in run.headlines:
        few.setdefault(result.key, f"{result.label}: {units.quantity(result.median or 0.0, result.unit)}")
    return (compared or list(few.values()))[:MOST_LINES]


def _line(ladder: "Ladder") -> str:
    from hpcscope.report.run.ladders import best_rungs, caption

    values = [
        f"{rung.layer} {units.quantity(rung.value, rung.unit)}"
        for rung in best_rungs(ladder)
        if rung.value is not None
    ]
    return f"{caption(ladder)}: {', '.join(reversed(values))}" if len(values) > 1 else ""
