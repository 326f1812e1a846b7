"""Groups of runs that behave alike, as in NetFinity's Table 3: their number, and the features that separate them.

The features are standardized and clustered by k-means; the silhouette chooses the number of groups. A test against
one broad group decides whether there is more than one group at all. As a second opinion, HDBSCAN searches for
dense regions of any shape and leaves out runs that are not in any region.
"""

import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import ClusterNode, linkage, to_tree
from scipy.cluster.vq import ClusterError, kmeans2
from scipy.spatial.distance import cdist, pdist, squareform

from hpcscope.grouping import grouped
from hpcscope.programs.campaign.configurations import well
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.samples.samples import Floats
from hpcscope.strict import Strict

FEATURES = ("compute_s", "send_s", "receive_s", "exchange_s", "collective_s", "communications", "sent_bytes")
FEWEST_RUNS = 8
MOST_GROUPS = 8
FEWEST_MEMBERS = 4
"""Minimum average number of members of a group; otherwise every configuration could be a group."""
NULL_DRAWS = 99
SIGNIFICANCE = 0.05
STARTS, NULL_STARTS = 40, 5
"""Number of k-means initializations for the data, and for each draw of the null hypothesis."""
ITERATIONS = 25
"""Number of iterations of k-means."""
SEED = 0
TINY = 1e-12
"""Smallest distance between standardized runs that counts."""
SAMPLED = 2000
"""Size of the random sample for computing the silhouette if there are more runs."""

Labels = NDArray[np.int64]


class RunGroup(Strict):
    """One group: its centroid in the features' own units."""

    runs: int
    points: int
    """Number of different configurations among the group's runs."""
    mean: dict[str, float]
    deviation: dict[str, float]
    """Standard deviation within the group."""
    chosen: dict[str, list[str]]
    """Values of each varying factor that occur in the group's runs."""


class Separation(Strict):
    """How strongly a feature or factor is related to the groups."""

    name: str
    share: float
    """For a feature, the fraction of its variance that is between groups; for a factor, Cramer's V."""


class Clusters(Strict):
    """The groups of a study's runs."""

    features: list[str]
    per: str
    """The parameter that the features were divided by; empty if none."""
    of_points: bool
    """Whether configurations (medians of their runs) were clustered instead of single runs."""
    runs: int
    groups: list[RunGroup]
    """Largest group first; there may be only one group."""
    labels: dict[int, int]
    """Group number of each run, from 1, by run number."""
    silhouettes: dict[int, float]
    """Mean silhouette for each number of groups, from 2."""
    p_value: float
    """Probability that runs of a single group separate as well as these; below 5 % a single group is rejected."""
    dense_groups: int
    """Number of groups that HDBSCAN finds."""
    dense_outliers: int
    agreement: float
    """Adjusted Rand index of both clusterings: 1 if identical, 0 by chance."""
    features_apart: list[Separation]
    """Features that separate the groups (below: factors), strongest first; empty if there is one group."""
    factors_apart: list[Separation]


@dataclass(frozen=True)
class _Division:
    labels: Labels
    silhouette: float


def clusters(records: Sequence[RunRecord], per: str | None = None) -> Clusters | str:
    """Return the groups of the successful runs, or why there are none.

    `per`: parameter to divide features by, such as the number of time steps in NetFinity.
    """
    good = [record for record in well(records) if all(name in record.features for name in FEATURES)]
    if len(good) < FEWEST_RUNS:
        return f"clustering needs at least {FEWEST_RUNS} runs with profiles; the campaign has {len(good)}"
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
    dense = dense_regions(scaled)
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
        agreement=agreement(labels, dense),
        features_apart=_features_apart(names, scaled, labels),
        factors_apart=_factors_apart([part[0] for part in parts], labels),
    )


def _components(good: Sequence[RunRecord]) -> list[list[RunRecord]]:
    """Return the objects to cluster: configurations, whose medians are robust, or single runs if too few."""
    points = grouped(good, lambda record: record.point.key)
    return list(points.values()) if len(points) >= FEWEST_RUNS else [[record] for record in good]


def divisions(scaled: Floats, starts: int = STARTS) -> dict[int, _Division]:
    """Return the k-means division into each number of groups, from 2, with its mean silhouette.

    Rousseeuw 1987, J. Comput. Appl. Math. 20, 53-65.
    """
    random = np.random.default_rng(SEED)
    different = len(np.unique(scaled.round(9), axis=0))
    sample = random.permutation(len(scaled))[:SAMPLED]
    distances = cdist(scaled[sample], scaled[sample])
    found = {}
    for count in range(2, min(MOST_GROUPS, different - 1, len(scaled) // FEWEST_MEMBERS) + 1):
        labels = _k_means(scaled, count, starts, random)
        if labels is not None:
            found[count] = _Division(labels, silhouette(distances, labels[sample]))
    return found


def _k_means(scaled: Floats, count: int, starts: int, random: np.random.Generator) -> Labels | None:
    """Return the best of several divisions by the sum of squares; None if each had an empty group."""
    best, least = None, np.inf
    for _ in range(starts):
        with suppress(ClusterError):
            centroids, labels = kmeans2(
                scaled, count, ITERATIONS, minit="++", missing="raise", rng=random, check_finite=False
            )
            squares = float(((scaled - centroids[labels]) ** 2).sum())
            if squares < least:
                best, least = labels.astype(np.int64), squares
    return best


def silhouette(distances: Floats, labels: Labels) -> float:
    """Return the mean silhouette of a division into several groups; a group of one counts as 0."""
    inside = labels[:, None] == np.unique(labels)
    members = inside.sum(axis=0)
    sums = distances @ inside
    own_members = members[inside.argmax(axis=1)]
    own = sums[inside] / np.maximum(own_members - 1, 1)
    other = np.where(inside, np.inf, sums / members).min(axis=1)
    widths = np.where(own_members > 1, (other - own) / np.maximum(np.maximum(own, other), TINY), 0.0)
    return float(widths.mean())


def _chance(scaled: Floats, silhouette: float) -> float:
    """Return the probability that runs of one normal group with the same covariance separate as well as these.

    As in SigClust (Liu, Hayes, Nobel & Marron 2008, JASA 103, 1281-1293), but with the silhouette as the measure
    and the number of groups chosen again for each draw.
    """
    random = np.random.default_rng(zlib.crc32(b"one group"))
    axes, spread, _ = np.linalg.svd(np.cov(scaled.T).reshape(scaled.shape[1], -1))
    root = axes * np.sqrt(spread)
    as_good = 0
    for drawn in range(1, NULL_DRAWS + 1):
        runs = random.normal(size=scaled.shape) @ root.T
        found = divisions(runs, NULL_STARTS).values()
        as_good += max((division.silhouette for division in found), default=-1.0) >= silhouette
        if as_good > SIGNIFICANCE * (1 + NULL_DRAWS) - 1:
            return as_good / drawn  # further draws can no longer reject one group (Besag & Clifford 1991)
    return (1 + as_good) / (1 + NULL_DRAWS)


def dense_regions(scaled: Floats) -> Labels:
    """Return each run's dense region by HDBSCAN (Campello, Moulavi & Sander 2013, PAKDD), or -1 without one."""
    fewest = max(3, len(scaled) // 20)
    distances = squareform(pdist(scaled))
    core = np.partition(distances, fewest - 1, axis=1)[:, fewest - 1]
    reachability = np.maximum(distances, np.maximum.outer(core, core))
    tree = to_tree(linkage(reachability[np.triu_indices(len(scaled), 1)], "single"))
    labels = np.full(len(scaled), -1, dtype=np.int64)
    for number, region in enumerate(_stable_regions(tree, fewest, 0.0)[1]):
        labels[region.pre_order()] = number
    return labels


def _stable_regions(region: ClusterNode, fewest: int, parted: float) -> tuple[float, list[ClusterNode]]:
    """Return a region or, if they are more stable, the regions that it splits into, and their stability.

    The stability of a region is a sum over its runs: the growth of density from where the region split off to
    where the run leaves the region. All runs together (`parted` = 0) are not a region.
    """
    stability = 0.0
    node = region
    while True:
        density = 1 / max(node.dist, TINY)
        parts = [part for part in (node.left, node.right) if part is not None and part.count >= fewest]
        leaving = node.count - (parts[0].count if len(parts) == 1 else 0)
        stability += leaving * (density - parted)
        if len(parts) != 1:
            break
        node = parts[0]
    inner = [_stable_regions(part, fewest, density) for part in parts]
    together = sum(each for each, _ in inner)
    if parted == 0.0 or together > stability:
        return together, [cluster_node for _, regions in inner for cluster_node in regions]
    return stability, [region]


def agreement(labels: Labels, others: Labels) -> float:
    """Return the adjusted Rand index of two divisions (Hubert & Arabie 1985, J. Classification 2, 193-218)."""

    def pairs(counts: NDArray[np.int64]) -> float:
        return float((counts * (counts - 1)).sum()) / 2

    from scipy.stats.contingency import crosstab  # takes a second to load

    table = crosstab(labels, others).count
    both, first, second = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    by_chance = first * second / pairs(np.array([len(labels)]))
    most = (first + second) / 2
    return 1.0 if most == by_chance else (both - by_chance) / (most - by_chance)


def _largest_first(labels: Labels) -> Labels:
    counts = np.bincount(labels)
    place = np.empty(len(counts), dtype=np.int64)
    place[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return place[labels]


def _group(
    parts: Sequence[Sequence[RunRecord]], names: list[str], values: Floats, inside: NDArray[np.bool_]
) -> RunGroup:
    own = values[inside]
    varying = _varying([part[0] for part in parts])
    runs = [run for part, here in zip(parts, inside, strict=True) if here for run in part]
    return RunGroup(
        runs=len(runs),
        points=len({run.point.key for run in runs}),
        mean={name: float(mean) for name, mean in zip(names, own.mean(axis=0), strict=True)},
        deviation={name: float(spread) for name, spread in zip(names, own.std(axis=0), strict=True)},
        chosen={factor: _sorted({run.point.factors[factor] for run in runs}) for factor in varying},
    )


def _sorted(values: set[bool | int | float | str]) -> list[str]:
    return [str(value) for value in sorted(values, key=lambda value: (isinstance(value, str), value))]


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
    return sorted(shares, key=lambda separation: -separation.share)


def _factors_apart(records: Sequence[RunRecord], labels: Labels) -> list[Separation]:
    """Return Cramer's V of each factor with the division (Mathematical Methods of Statistics, 1946, ch. 21)."""
    if labels.max() == 0:
        return []
    from scipy.stats.contingency import association, crosstab  # takes a second to load

    separations = []
    for name in _varying(records):
        codes = np.unique([str(record.point.factors[name]) for record in records], return_inverse=True)[1]
        separations.append(Separation(name=name, share=float(association(crosstab(labels, codes).count))))
    return sorted(separations, key=lambda separation: -separation.share)
