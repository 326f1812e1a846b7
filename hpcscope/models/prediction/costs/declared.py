"""Costs that a benchmark declares itself: the steps of `costs` in benchmarks.json, evaluated for a problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hpcscope.catalog.benchmark import Benchmark, Phase, Value
from hpcscope.catalog.benchmark import Step as Declaration
from hpcscope.catalog.expression import evaluate
from hpcscope.models.prediction.costs.steps import (
    CollectiveStep,
    LocalWork,
    Messages,
    NeighborExchange,
    Problem,
    Step,
)


def numbers(settings: Mapping[str, Value]) -> dict[str, float]:
    """Return the parameters that expressions may name: those that are numbers."""
    return {name: float(value) for name, value in settings.items() if isinstance(value, int | float)}


class Declared:
    """The costs of one benchmark, as declared."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark.name
        self.name = benchmark.name.partition(".")[2]
        self.source = f"declared by {benchmark.source}"
        self._steps = benchmark.costs
        self._size = next(
            (one.name for one in benchmark.parameters if one.role == "size" and one.type == "integer"), ""
        )
        self._ranks = benchmark.ranks

    def units(self, phase: Phase, size: float, problem: Problem) -> float:
        """Return the units of work that one process has in a phase."""
        names = self._names(problem) | {self._size: size, "p": 1.0}
        work = [one for one in self._of(problem) if (one.kind, one.phase) == ("work", phase)]
        return sum(evaluate(one.count, names) for one in work)

    def touched_bytes(self, size: float) -> float:  # noqa: ARG002 - of the protocol
        """Return 0: memory is not declared."""
        return 0.0

    def refuses(self, problem: Problem) -> str:
        """Say which numbers of ranks the benchmark can use."""
        if self._ranks.allows(problem.ranks):
            return ""
        return f"{problem.ranks} processes: must be {self._ranks.description}"

    def steps(self, problem: Problem) -> Iterator[Step]:
        """Yield the declared steps in their order; what is sent only among several processes."""
        names = self._names(problem)
        for one in self._of(problem):
            if one.kind != "work" and problem.ranks == 1:
                continue
            count = evaluate(one.count, names)
            if one.kind == "work":
                yield LocalWork(one.phase, count, problem.size)
            elif one.kind == "messages":
                yield Messages(one.phase, count, evaluate(one.bytes, names), one.hidden)
            elif one.kind == "neighbor_exchange":
                ranks, neighbors = int(evaluate(one.ranks, names)), int(evaluate(one.at_once, names))
                if neighbors > 0:
                    yield NeighborExchange(one.phase, count, evaluate(one.bytes, names), ranks, neighbors)
            else:
                ranks = int(evaluate(one.ranks, names))
                messages = ranks - 1 if one.routine.startswith("MPI_Alltoall") else 0
                bytes_ = evaluate(one.bytes, names)
                yield CollectiveStep(one.phase, one.routine, count, bytes_, ranks, messages=messages)

    def _of(self, problem: Problem) -> list[Declaration]:
        return [one for one in self._steps if one.belongs_to(problem.parameters)]

    def _names(self, problem: Problem) -> dict[str, float]:
        return (
            problem.counts
            | numbers(problem.parameters)
            | {self._size: float(problem.size), "p": float(problem.ranks)}
        )
