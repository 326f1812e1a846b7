"""Groups of runs that behave alike, as NetFinity's Table 3: how many there are, and what sets them apart.

The features are standardised; k-means divides them, and the silhouette chooses how often. Whether there is more
than one group at all is asked first: runs of one broad group can be divided too. As a second opinion HDBSCAN looks
for groups as dense regions, of any shape, and leaves out runs that belong to none.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scope.campaign.configurations import well
from scope.campaign.record import RunRecord
from scope.samples.samples import Floats
from scope.strict import Strict

FEATURES = ("compute_s", "send_s", "receive_s", "exchange_s", "collective_s", "communications", "sent_bytes")
FEWEST_RUNS = 8
MOST_GROUPS = 8
FEWEST_MEMBERS = 4
"""Of a group, on average: else every point would be its own group."""
NULL_DRAWS = 99
SIGNIFICANCE = 0.05
STARTS, NULL_STARTS = 10, 3
"""Of k-means, each from other centres: for the answer, and for each draw of what chance gives."""
SAMPLED = 2000
"""Of more runs, so many are asked how well they fit their group."""

Labels = NDArray[np.int64]


class Group(Strict):
    """One group: its centroid in the features' own units."""

    runs: int
    points: int
    """How many different choices of parameters, processes, placement and transport its runs are of."""
    mean: dict[str, float]
    deviation: dict[str, float]
    """Standard deviation within the group."""
    chosen: dict[str, list[str]]
    """Of each factor that varies in the study: the values that this group's runs have."""


class Separation(Strict):
    """What a feature or factor has to do with the division."""

    name: str
    share: float
    """Of a feature: the variance between the groups over all. Of a factor: Cramer's V."""


class Clusters(Strict):
    """The groups of a study's runs."""

    features: list[str]
    per: str
    """The parameter that the features were divided by; empty: none."""
    of_points: bool
    """Whether points, with the medians of their runs, were divided; else runs."""
    runs: int
    groups: list[Group]
    """The largest first; one group is an answer too."""
    labels: dict[int, int]
    """The group of each run by its number, from 1."""
    silhouettes: dict[int, float]
    """Mean silhouette of each number of groups that was tried, from 2."""
    p_value: float
    """How often runs of one group look as divided as these: that there is only one is refused below 5 %."""
    dense_groups: int
    """That HDBSCAN finds."""
    dense_outliers: int
    agreement: float
    """Adjusted Rand index of both divisions: 1 is the same, 0 what chance gives."""
    features_apart: list[Separation]
    """What separates the groups, most of all first; empty of one group."""
    factors_apart: list[Separation]


@dataclass(frozen=True)
class _Division:
    labels: Labels
    silhouette: float


def clusters(records: Sequence[RunRecord], per: str | None = None) -> Clusters | str:
    """Divide the runs that ended well, or say why they cannot be divided.

    `per` names a parameter: NetFinity divides all features by the number of time steps.
    """
    good = [record for record in well(records) if all(name in record.features for name in FEATURES)]
    if len(good) < FEWEST_RUNS:
        return f"{len(good)} runs with profiles: groups are looked for among {FEWEST_RUNS} or more"
    parts = _components(good)
    raw = np.array([[np.median([run.features[name] for run in part]) for name in FEATURES] for part in parts])
    if per is not None:
        raw /= np.array([[float(part[0].parameters[per])] for part in parts])
    varying = np.flatnonzero(raw.std(axis=0) > 1e-9 * np.abs(raw).max(axis=0))
    if not varying.size:
        return "all runs have the same features"
    names = [FEATURES[position] for position in varying]
    values = raw[:, varying]
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    tried = divisions(scaled)
    best = max(tried, key=lambda count: tried[count].silhouette, default=1)
    p_value = _chance(scaled, tried[best].silhouette) if best > 1 else 1.0
    labels = tried[best].labels if best > 1 and p_value <= SIGNIFICANCE else np.zeros(len(parts), dtype=np.int64)
    labels = _largest_first(labels)
    dense = _dense(scaled)
    return Clusters(
        features=names,
        per=per or "",
        of_points=len(parts) < len(good),
        runs=len(good),
        groups=[_group(parts, names, values, labels == number) for number in range(int(labels.max()) + 1)],
        labels={run.number: int(label) + 1 for part, label in zip(parts, labels, strict=True) for run in part},
        silhouettes={count: division.silhouette for count, division in tried.items()},
        p_value=p_value,
        dense_groups=len(set(dense.tolist()) - {-1}),
        dense_outliers=int((dense == -1).sum()),
        agreement=_agreement(labels, dense),
        features_apart=_features_apart(names, scaled, labels),
        factors_apart=_factors_apart([part[0] for part in parts], labels),
    )


def _components(good: Sequence[RunRecord]) -> list[list[RunRecord]]:
    """Return what is divided: the points, whose medians no wild run moves, or of too few points the runs."""
    points: dict[str, list[RunRecord]] = {}
    for record in good:
        points.setdefault(record.point.key, []).append(record)
    return list(points.values()) if len(points) >= FEWEST_RUNS else [[record] for record in good]


def divisions(scaled: Floats, starts: int = STARTS) -> dict[int, _Division]:
    """Return the k-means division into each number of groups, from 2, with its mean silhouette.

    Rousseeuw 1987, J. Comput. Appl. Math. 20, 53-65.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score
    from threadpoolctl import threadpool_limits

    different = len(np.unique(scaled.round(9), axis=0))
    sample = min(SAMPLED, len(scaled))
    found = {}
    with threadpool_limits(1):  # its threads would wait for each other far longer than they compute
        for count in range(2, min(MOST_GROUPS, different - 1, len(scaled) // FEWEST_MEMBERS) + 1):
            labels = KMeans(count, n_init=starts, random_state=0).fit_predict(scaled).astype(np.int64)
            mean = float(silhouette_score(scaled, labels, sample_size=sample, random_state=0))
            found[count] = _Division(labels, mean)
    return found


def _chance(scaled: Floats, silhouette: float) -> float:
    """Return how often runs of one normal group with the same covariance are divided as well as these.

    The idea of SigClust (Liu, Hayes, Nobel & Marron 2008, JASA 103, 1281-1293), with the silhouette as the measure
    and the number of groups chosen anew for each draw.
    """
    random = np.random.default_rng(zlib.crc32(b"one group"))
    axes, spread, _ = np.linalg.svd(np.cov(scaled.T).reshape(scaled.shape[1], -1))
    root = axes * np.sqrt(spread)
    as_good = 0
    for drawn in range(1, NULL_DRAWS + 1):
        runs = random.normal(size=scaled.shape) @ root.T
        as_good += (
            max((one.silhouette for one in divisions(runs, NULL_STARTS).values()), default=-1.0) >= silhouette
        )
        if as_good > SIGNIFICANCE * (1 + NULL_DRAWS) - 1:
            return as_good / drawn  # no further draw could refuse one group any more (Besag & Clifford 1991)
    return (1 + as_good) / (1 + NULL_DRAWS)


def _dense(scaled: Floats) -> Labels:
    """Return the groups as dense regions (Campello, Moulavi & Sander 2013, PAKDD); -1 for a run of none."""
    from sklearn.cluster import HDBSCAN

    smallest = max(3, len(scaled) // 20)
    return np.asarray(HDBSCAN(min_cluster_size=smallest, copy=True).fit_predict(scaled), dtype=np.int64)


def _agreement(labels: Labels, dense: Labels) -> float:
    """Compare two divisions; where density knows no groups at all, it sees one."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(labels, dense))


def _largest_first(labels: Labels) -> Labels:
    counts = np.bincount(labels)
    place = np.empty(len(counts), dtype=np.int64)
    place[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return place[labels]


def _group(
    parts: Sequence[Sequence[RunRecord]], names: list[str], values: Floats, inside: NDArray[np.bool_]
) -> Group:
    own = values[inside]
    varying = _varying([part[0] for part in parts])
    runs = [run for part, here in zip(parts, inside, strict=True) if here for run in part]
    return Group(
        runs=len(runs),
        points=len({run.point.key for run in runs}),
        mean={name: float(mean) for name, mean in zip(names, own.mean(axis=0), strict=True)},
        deviation={name: float(spread) for name, spread in zip(names, own.std(axis=0), strict=True)},
        chosen={factor: _sorted({run.point.factors[factor] for run in runs}) for factor in varying},
    )


def _sorted(values: set[bool | int | float | str]) -> list[str]:
    numbers = sorted(value for value in values if not isinstance(value, str))
    return [*map(str, numbers), *sorted(value for value in values if isinstance(value, str))]


def _varying(records: Sequence[RunRecord]) -> list[str]:
    names = dict.fromkeys(name for record in records for name in record.point.factors)
    return [name for name in names if len({repr(record.point.factors.get(name)) for record in records}) > 1]


def _features_apart(names: list[str], scaled: Floats, labels: Labels) -> list[Separation]:
    if labels.max() == 0:
        return []
    between = sum(
        (labels == number).mean() * scaled[labels == number].mean(axis=0) ** 2
        for number in range(labels.max() + 1)
    )
    shares = [Separation(name=name, share=float(share)) for name, share in zip(names, between, strict=True)]
    return sorted(shares, key=lambda each: -each.share)


def _factors_apart(records: Sequence[RunRecord], labels: Labels) -> list[Separation]:
    """Return Cramer's V of each factor with the division (Mathematical Methods of Statistics, 1946, ch. 21)."""
    if labels.max() == 0:
        return []
    found = []
    for name in _varying(records):
        values, codes = np.unique([str(record.point.factors[name]) for record in records], return_inverse=True)
        counts = np.zeros((int(labels.max()) + 1, len(values)))
        np.add.at(counts, (labels, codes), 1)
        expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
        chi_square = float(((counts - expected) ** 2 / expected).sum())
        share = (chi_square / counts.sum() / (min(counts.shape) - 1)) ** 0.5
        found.append(Separation(name=name, share=min(share, 1.0)))
    return sorted(found, key=lambda each: -each.share)
