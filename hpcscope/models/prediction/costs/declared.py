"""Costs that a benchmark declares itself: the steps of `costs` in benchmarks.json, evaluated for a problem."""

from collections.abc import Iterator, Mapping

from hpcscope.catalog.benchmark import Benchmark, Phase, Value
from hpcscope.catalog.benchmark import Step as Declaration
from hpcscope.catalog.expression import evaluate
from hpcscope.models.prediction.costs.steps import (
    CollectiveStep,
    Costs,
    LocalWork,
    Messages,
    NeighborExchange,
    Problem,
    Step,
)


def numbers(settings: Mapping[str, Value]) -> dict[str, float]:
    """Return the parameters that expressions may name: the numeric ones."""
    return {name: float(value) for name, value in settings.items() if isinstance(value, int | float)}


class Declared(Costs):
    """The costs of one benchmark, as declared."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark.name
        self.name = benchmark.name.partition(".")[2]
        self.source = f"declared by {benchmark.source}"
        self._steps = benchmark.costs
        sizes = (each.name for each in benchmark.parameters if (each.role, each.type) == ("size", "integer"))
        self._size = next(sizes, "")
        self._ranks = benchmark.ranks

    def units(self, phase: Phase, size: float, problem: Problem) -> float:
        """Return the units of work that one rank has in a phase."""
        names = self._names(problem) | {self._size: size, "p": 1.0}
        work = [step for step in self._of(problem) if (step.kind, step.phase) == ("work", phase)]
        return sum(evaluate(step.count, names) for step in work)

    def refuses(self, problem: Problem) -> str:
        """Return which numbers of ranks the benchmark can use, if it cannot use this one; else an empty text."""
        if self._ranks.allows(problem.ranks):
            return ""
        return f"{problem.ranks} ranks: must be {self._ranks.description}"

    def steps(self, problem: Problem) -> Iterator[Step]:
        """Yield the declared steps in their order; communication only among several ranks."""
        names = self._names(problem)
        for step in self._of(problem):
            if step.kind != "work" and problem.ranks == 1:
                continue
            count = evaluate(step.count, names)
            if step.kind == "work":
                yield LocalWork(step.phase, count, problem.size)
            elif step.kind == "messages":
                yield Messages(step.phase, count, evaluate(step.bytes, names), step.hidden)
            elif step.kind == "neighbor_exchange":
                ranks, neighbors = int(evaluate(step.ranks, names)), int(evaluate(step.at_once, names))
                if neighbors > 0:
                    yield NeighborExchange(step.phase, count, evaluate(step.bytes, names), ranks, neighbors)
            else:
                ranks = int(evaluate(step.ranks, names))
                messages = ranks - 1 if step.routine.startswith("MPI_Alltoall") else 0
                bytes_ = evaluate(step.bytes, names)
                yield CollectiveStep(step.phase, step.routine, count, bytes_, ranks, messages=messages)

    def _of(self, problem: Problem) -> list[Declaration]:
        return [step for step in self._steps if step.belongs_to(problem.parameters)]

    def _names(self, problem: Problem) -> dict[str, float]:
        return (
            problem.counts
            | numbers(problem.parameters)
            | {self._size: float(problem.size), "p": float(problem.ranks)}
        )
