"""Laws: the terms that made the times are found again, with intervals that hold the truth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from hpcscope.programs.campaign.scaling import Law, laws, speedup_laws, without_law
from hpcscope.programs.campaign.study import Value
from tests.campaign.records import study
from tests.messages import mentions

COUNTS: list[dict[str, Value]] = [{"ranks": count} for count in (1, 2, 4, 8, 16)]
NOISE = 0.01


def noisy(seconds: float, random: np.random.Generator, noise: float = NOISE) -> float:
    return seconds * float(np.exp(random.normal(0, noise)))


def program(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
    """A program whose computation is divided and whose messages go through a tree."""
    p = int(point.get("ranks", 1))
    compute, mpi = noisy(3.2 / p, random), noisy(0.05 * np.log2(p), random) if p > 1 else 0.0
    return {"compute_s": compute, "mpi_s": mpi, "wall_s": compute + mpi}


def of(found: list[Law], feature: str, variable: str) -> Law:
    (one,) = [law for law in found if (law.feature, law.variable) == (feature, variable)]
    return one


def test_the_terms_over_processes_are_found_again() -> None:
    found = laws(study(COUNTS, program))
    compute, mpi = of(found, "compute_s", "ranks"), of(found, "mpi_s", "ranks")
    assert [term.name for term in compute.terms] == ["1/p"]
    assert compute.terms[0].seconds.value == pytest.approx(3.2, rel=0.02)
    assert compute.inverse_alone_s is not None
    assert compute.inverse_alone_s.value == pytest.approx(3.2, rel=0.02)
    assert [term.name for term in mpi.terms] == ["log2 p"]
    assert mpi.chosen_share > 0.8
    assert len(mpi.points) == 4, "one process has nobody to talk to"
    assert [term.name for term in of(found, "wall_s", "ranks").terms] == ["1/p", "log2 p"]


def test_intervals_hold_the_truth() -> None:
    covered = 0
    for seed in range(60):
        (term,) = of(laws(study(COUNTS, program, 6, seed)), "compute_s", "ranks").terms
        assert term.seconds.low is not None
        assert term.seconds.high is not None
        covered += term.seconds.low <= 3.2 <= term.seconds.high
    assert covered >= 50


@pytest.mark.parametrize(("power", "log", "name"), [(2, 0, "n^2"), (1, 1, "n log2 n"), (3, 0, "n^3"), (0, 0, "1")])
def test_the_term_over_a_parameter_is_found_again(power: int, log: int, name: str) -> None:
    def sized(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
        n = int(point["n"])
        seconds = noisy(1e-6 * n**power * np.log2(n) ** log, random)
        return {"compute_s": seconds, "mpi_s": 0.0, "wall_s": seconds}

    found = laws(study([{"n": n} for n in (64, 128, 256, 512, 1024)], sized, repetitions=8))
    assert [term.name for term in of(found, "compute_s", "n").terms] == [name]


def test_words_and_single_values_are_no_variables() -> None:
    points: list[dict[str, Value]] = [{"ranks": 2, "kind": kind} for kind in ("a", "b", "c", "d")]
    assert laws(study(points, program)) == []


def test_a_factor_without_a_law_is_told_with_what_it_lacks() -> None:
    points: list[dict[str, Value]] = [{"ranks": ranks, "n": n} for ranks in (1, 2) for n in (10, 20, 30)]
    records = study(points, program)
    over_ranks, over_n = without_law(records, laws(records))
    assert mentions(over_ranks, "ranks: ... 2 ... 3"), "values that there are, and values that it needs"
    assert mentions(over_n, " n: ... 3 ... 4")
    records = study(COUNTS, program)
    assert without_law(records, laws(records)) == []


def test_amdahl_has_its_serial_share_and_oversubscribed_counts_take_no_part() -> None:
    def serial(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
        p = int(point["ranks"])
        wall = noisy(1.0 * 0.23 + 0.77 / p, random, 0.003) if p < 16 else 9.0
        return {"compute_s": wall, "mpi_s": 0.0, "wall_s": wall}

    records = [
        record.model_copy(update={"oversubscribed": record.ranks == 16})
        for record in study(COUNTS, serial, repetitions=8)
    ]
    (found,) = speedup_laws(records)
    assert found.law is not None, found.reason
    assert found.law.serial_share.value == pytest.approx(0.23, abs=0.03)
    assert [point.x for point in found.law.points] == [1, 2, 4, 8]
    assert speedup_laws(study(COUNTS[:2], program)) == []
