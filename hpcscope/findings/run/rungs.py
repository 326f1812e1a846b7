"""Rungs of ladders on which much is lost."""

from collections.abc import Iterator
from typing import NamedTuple

from hpcscope.findings.finding import Evidence
from hpcscope.findings.results import Run
from hpcscope.findings.settings import Advised, advised
from hpcscope.models.ladder.ladder import layer_below
from hpcscope.models.ladder.rung import Ladder, LadderRung
from hpcscope.plan.case import Case


class RungLoss(NamedTuple):
    """A rung, the best rung of the layer below it, and their ladder."""

    ladder: Ladder
    below: LadderRung
    rung: LadderRung

    @property
    def retained(self) -> float:
        """Fraction of the performance of the layer below."""
        return self.rung.retained or 0.0

    @property
    def where(self) -> dict[str, str | int | float]:
        """Path, layer and message size."""
        size = self.ladder.message_bytes or 0
        return {"path": self.ladder.path, "layer": self.rung.layer, "message_bytes": size}

    @property
    def evidence(self) -> list[Evidence]:
        """The values of both rungs."""
        return [
            Evidence(what=rung.name, value=rung.value or 0.0, unit=rung.unit) for rung in (self.below, self.rung)
        ]


def case_of(run: Run, rung: LadderRung) -> Case | None:
    """Return the case whose result is this rung."""
    return next((case for case in run.headlines if case.label == rung.name), None)


def selecting_the_network(run: Run, loss: RungLoss) -> Advised:
    """Return how to select the library's network module, unless the run did so or the path has no network."""
    case = case_of(run, loss.rung)
    if "memory" in loss.ladder.path or (case is not None and case.transport != "default"):
        return Advised("", [])
    how = advised(run, "network stack", case)
    return how._replace(words=f"; {how.words}")


def losses(run: Run, quantity: str, layers: tuple[str, ...], tolerated: float) -> Iterator[RungLoss]:
    """Yield rungs below `tolerated` of the layer below at 95 % confidence, one per path and layer."""
    seen: set[tuple[str, str]] = set()
    for ladder in run.models.ladders:
        # Files have their own findings.
        if ladder.quantity != quantity or ladder.successive:
            continue
        for rung in ladder.rungs:
            sure = rung.retained is not None and (rung.retained_high or rung.retained) < tolerated
            below = _below(ladder, rung)
            if rung.layer in layers and sure and below is not None and (ladder.path, rung.layer) not in seen:
                seen.add((ladder.path, rung.layer))
                yield RungLoss(ladder, below, rung)


def _below(ladder: Ladder, rung: LadderRung) -> LadderRung | None:
    """Return the best rung of the layer below, to which `retained` refers."""
    below = layer_below(rung.layer, [ladder_rung.layer for ladder_rung in ladder.rungs])
    known = [ladder_rung for ladder_rung in ladder.rungs if ladder_rung.layer == below and ladder_rung.value]
    better = max if ladder.quantity != "latency_s" else min
    return better(known, key=lambda one: one.value or 0.0, default=None)
