"""Groups of runs: those that were made are found again, and one broad group stays one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import ModuleType

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from hpcscope.programs.campaign.clusters import (
    FEWEST_MEMBERS,
    Clusters,
    agreement,
    clusters,
    dense_regions,
    divisions,
    silhouette,
)
from hpcscope.programs.campaign.study import Value
from tests.campaign.records import study

# After NetFinity's table 3: computation, sending, receiving in ms, communications, MB.
CENTROIDS = {"small": (52.65, 5.43, 3.38, 90.0, 1.59), "large": (642.13, 30.20, 210.58, 37.0, 9.53)}


@pytest.fixture(scope="module")
def scikit_learn() -> ModuleType:
    """It takes two seconds to load, for which every worker would wait."""
    import sklearn.cluster
    import sklearn.metrics

    return sklearn


def of_two_grids(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
    compute, send, receive, count, megabytes = CENTROIDS[str(point["grid"])] * np.exp(random.normal(0, 0.1, 5))
    return {
        "compute_s": compute / 1e3,
        "send_s": send / 1e3,
        "receive_s": receive / 1e3,
        "exchange_s": 0.0,
        "collective_s": 0.0,
        "communications": count,
        "sent_bytes": megabytes * 1e6,
    }


def of_one_kind(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
    return of_two_grids({"grid": "small"}, random)


def found(made: Clusters | str) -> Clusters:
    assert isinstance(made, Clusters), made
    return made


def test_two_groups_are_found_with_their_centroids_and_what_sets_them_apart() -> None:
    points: list[dict[str, Value]] = [{"grid": grid, "ranks": p} for grid in ("small", "large") for p in (4, 8)]
    points += [{"grid": "small", "ranks": p} for p in (16, 32)]
    records = study(points, of_two_grids, repetitions=10)
    made = found(clusters(records))
    assert [group.runs for group in made.groups] == [40, 20]
    assert made.p_value <= 0.05
    assert made.agreement == pytest.approx(1.0)
    for group, kind in zip(made.groups, ("small", "large"), strict=True):
        assert group.mean["compute_s"] == pytest.approx(CENTROIDS[kind][0] / 1e3, rel=0.1)
        assert group.mean["communications"] == pytest.approx(CENTROIDS[kind][3], rel=0.1)
        assert group.chosen["grid"] == [kind]
    assert made.features == ["compute_s", "send_s", "receive_s", "communications", "sent_bytes"]
    assert all(each.share > 0.8 for each in made.features_apart)
    assert (made.factors_apart[0].name, made.factors_apart[0].share) == ("grid", pytest.approx(1.0))
    assert {record.number for record in records if record.parameters["grid"] == "large"} == {
        number for number, label in made.labels.items() if label == 2
    }


def test_one_broad_group_is_one_answer() -> None:
    alone = [
        len(found(clusters(study([{"ranks": 4}], of_one_kind, repetitions=40, seed=seed))).groups)
        for seed in range(3)
    ]
    assert alone.count(1) >= 2, alone


def test_too_few_runs_and_runs_without_difference_are_told() -> None:
    few = clusters(study([{"ranks": 4}], of_one_kind, repetitions=7))
    assert isinstance(few, str)
    assert few.endswith("the campaign has 7")
    same = study([{"ranks": 4}], lambda _point, _random: of_one_kind({}, np.random.default_rng(1)), repetitions=9)
    alike = clusters(same)
    assert isinstance(alike, str)
    assert not re.search(r"\d", alike), "they are enough"


def test_runs_of_different_lengths_are_one_group_per_step() -> None:
    def steps(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
        one = of_two_grids({"grid": "small"}, random)
        return {name: value * int(point["steps"]) for name, value in one.items()}

    records = study([{"steps": count} for count in (10, 400)], steps, repetitions=20)
    assert len(found(clusters(records)).groups) == 2
    divided = found(clusters(records, per="steps"))
    assert (len(divided.groups), divided.per) == (1, "steps")
    assert divided.groups[0].mean["compute_s"] == pytest.approx(CENTROIDS["small"][0] / 1e3, rel=0.1)


def test_a_wild_run_is_no_group_of_its_own() -> None:
    points: list[dict[str, Value]] = [
        {"grid": grid, "ranks": p} for grid in ("small", "large") for p in range(1, 9)
    ]
    records = study(points, of_two_grids, repetitions=5)
    wild = {name: 30 * value for name, value in records[3].features.items()}
    records[3] = records[3].model_copy(update={"features": wild})
    made = found(clusters(records))
    assert made.of_points
    assert [(group.runs, group.points) for group in made.groups] == [(40, 8), (40, 8)]
    assert len(made.labels) == 80


@pytest.mark.parametrize("seed", range(8))
def test_separate_groups_and_stray_runs_are_those_of_scikit_learn(seed: int, scikit_learn: ModuleType) -> None:
    random = np.random.default_rng(seed)
    groups = 2 + seed % 4
    corners = 20 * np.eye(groups, 5)
    runs = np.vstack(
        [np.repeat(corners, 25, axis=0) + random.normal(size=(25 * groups, 5)), [[90.0] * 5, [-90.0] * 5]]
    )
    theirs = np.asarray(
        scikit_learn.cluster.HDBSCAN(min_cluster_size=max(3, len(runs) // 20), copy=True).fit_predict(runs)
    )
    ours = dense_regions(runs)
    assert scikit_learn.metrics.adjusted_rand_score(ours, theirs) == 1.0
    assert ((ours == -1) == (theirs == -1)).all()
    inside = runs[:-2]
    divided = divisions(inside)[groups]
    chosen = scikit_learn.cluster.KMeans(groups, n_init=10, random_state=0).fit_predict(inside)
    assert scikit_learn.metrics.adjusted_rand_score(divided.labels, chosen) == 1.0
    assert divided.silhouette == pytest.approx(scikit_learn.metrics.silhouette_score(inside, chosen))


@pytest.mark.parametrize("seed", range(8))
def test_silhouettes_and_agreements_are_those_of_scikit_learn(seed: int, scikit_learn: ModuleType) -> None:
    random = np.random.default_rng(seed)
    runs = random.normal(size=(40, 3))
    labels, others = random.integers(0, 4, 40), random.integers(-1, 3, 40)
    labels[0] = 9  # a group of one
    assert silhouette(cdist(runs, runs), labels) == pytest.approx(
        scikit_learn.metrics.silhouette_score(runs, labels)
    )
    assert agreement(labels, others) == pytest.approx(scikit_learn.metrics.adjusted_rand_score(labels, others))
    assert agreement(labels, labels) == 1.0
    assert agreement(np.zeros(40, dtype=int), np.zeros(40, dtype=int)) == 1.0


@pytest.mark.simulation
def test_k_means_squares_are_about_the_least_of_scikit_learn(scikit_learn: ModuleType) -> None:
    for seed in range(4):
        runs = np.random.default_rng(seed).normal(size=(10 * FEWEST_MEMBERS, 4))
        for count, divided in divisions(runs).items():
            centroids = np.array([runs[divided.labels == number].mean(axis=0) for number in range(count)])
            squares = ((runs - centroids[divided.labels]) ** 2).sum()
            assert (
                squares <= 1.05 * scikit_learn.cluster.KMeans(count, n_init=10, random_state=0).fit(runs).inertia_
            )
