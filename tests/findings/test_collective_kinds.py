"""Findings about collectives: injected faults, healthy libraries, and how often those are accused."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2

import numpy as np
import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.statistics.summary import Summary
from tests.draws import draws
from tests.findings.faulty_runs import run_kinds, with_summaries, with_usable
from tests.models.curves import noisy, summary

COUNTS = (2, 3, 4, 5, 6, 7, 8, 12, 16)


def over_counts(truth: Callable[[int], float], benchmark: str = "mpi.allreduce", seed: int = 1) -> list[Summary]:
    random = np.random.default_rng(seed)
    given = {"message_bytes": 1024, "call": "blocking"}
    return [summary(noisy(random, truth(p)), benchmark, "time_s", "global", p, **given) for p in COUNTS]


def steps(p: int) -> float:
    return 1e-6 + 2e-6 * ceil(log2(p))


def line(p: int) -> float:
    return 1e-6 + 2e-6 * p


def found(kind: str, run: Run, summaries: list[Summary]) -> list[Finding]:
    return run_kinds()[kind](with_summaries(run, summaries))


def checked(findings: list[Finding]) -> Finding:
    (one,) = findings
    assert one.evidence
    assert one.where
    assert one.advice.endswith(".")
    assert "  " not in one.title
    assert one.lost is not None
    return one


def test_a_dear_odd_number_of_processes_is_found(healthy_run: Run) -> None:
    findings = found("odd_process_count", healthy_run, over_counts(lambda p: steps(p) * (1.6 if p == 6 else 1)))
    one = checked(findings)
    assert (one.code, one.severity, one.where["ranks"]) == ("odd-process-count", "warning", 6)
    assert one.lost == pytest.approx(1 - 1 / 1.6, abs=0.03)


@pytest.mark.simulation
@draws(15, 50)
def test_steps_and_lines_are_no_odd_numbers(healthy_run: Run, draws: int) -> None:
    alarms = sum(
        bool(found("odd_process_count", healthy_run, over_counts(truth, seed=seed)))
        for truth in (steps, line)
        for seed in range(draws)
    )
    assert alarms == 0


def test_a_crowded_launch_tells_nothing_of_odd_numbers(healthy_run: Run) -> None:
    counts = {launch.ranks for launch in healthy_run.raw_samples.launches}
    odd = next(p for p in sorted(counts) if p in COUNTS and 2 ** ceil(log2(p)) != p)
    slow = over_counts(lambda p: steps(p) * (1.6 if p == odd else 1))
    assert found("odd_process_count", healthy_run, slow)
    assert found("odd_process_count", with_usable(healthy_run, 2), slow) == []


@pytest.mark.parametrize("benchmark", ["mpi.barrier", "mpi.broadcast", "mpi.reduce", "mpi.allreduce"])
def test_a_collective_that_grows_with_every_process_is_found(benchmark: str, healthy_run: Run) -> None:
    one = checked(found("linear_collective", healthy_run, over_counts(line, benchmark)))
    assert one.code == "linear-collective"
    assert one.where["benchmark"] == benchmark


@pytest.mark.simulation
@draws(15, 50)
def test_what_must_be_linear_or_has_steps_is_not_accused(healthy_run: Run, draws: int) -> None:
    assert found("linear_collective", healthy_run, over_counts(line, "mpi.alltoall")) == []
    alarms = sum(
        bool(found("linear_collective", healthy_run, over_counts(steps, seed=seed))) for seed in range(draws)
    )
    assert alarms == 0


def test_a_line_over_few_processes_is_not_worth_a_word(healthy_run: Run) -> None:
    few = [s for s in over_counts(line) if s.ranks <= 6]
    assert found("linear_collective", healthy_run, few) == []


def divided(slower: dict[str, float], seed: int = 1) -> list[Summary]:
    random = np.random.default_rng(seed)
    return [
        summary(
            noisy(random, 20e-6 * slower.get(blocks, 1.0)),
            *("mpi.gatherv", "time_s", "global", 8),
            message_bytes=1024,
            blocks=blocks,
            call="blocking",
        )
        for blocks in ("equal", "proportional", "one_empty", "one_has_all")
    ]


def test_a_penalty_of_unequal_blocks_is_found(healthy_run: Run) -> None:
    one = checked(found("unequal_blocks", healthy_run, divided({"proportional": 1.6})))
    assert (one.code, one.severity) == ("unequal-blocks", "advice")
    assert one.lost == pytest.approx(1 - 1 / 1.6, abs=0.03)


def test_equal_costs_and_a_division_that_must_cost_raise_no_alarm(healthy_run: Run) -> None:
    alarms = sum(
        bool(found("unequal_blocks", healthy_run, divided({"one_has_all": 3.0, "proportional": 1.1}, seed)))
        for seed in range(50)
    )
    assert alarms == 0


def test_more_groups_of_ranks_tell_nothing_of_an_algorithm(healthy_run: Run) -> None:
    """On a shared link the time grows with the groups, each of which has two ranks."""

    def in_groups(truth: Callable[[int], float], benchmark: str = "mpi.allreduce") -> list[Summary]:
        made = over_counts(truth, benchmark)
        return [one.model_copy(update={"parameters": one.parameters | {"group_ranks": 2}}) for one in made]

    def odd(p: int) -> float:
        return steps(p) * (1.6 if p == 6 else 1)

    assert found("odd_process_count", healthy_run, over_counts(odd, "mpi.allreduce"))
    assert found("odd_process_count", healthy_run, in_groups(odd)) == []
    assert found("linear_collective", healthy_run, in_groups(line)) == []


def test_an_exchange_with_neighbors_is_no_algorithm_of_the_library(healthy_run: Run) -> None:
    def odd(p: int) -> float:
        return steps(p) * (1.6 if p == 6 else 1)

    assert found("odd_process_count", healthy_run, over_counts(odd, "mpi.neighbor_exchange")) == []
