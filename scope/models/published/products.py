"""Matrix products on a process grid over several clusters: published rates beside ours, and their cause.

The shape is comparable: flat in the block size, with a large loss where the grid lies across the clusters. The
cause is in the bytes over each trunk, counted twice: from the product's own messages by sender and receiver, and
by the trunk while the product ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scope.models.communication.panel_traffic import PRODUCTS, Crossing, busy_s, crossings, product_of, sent_bytes
from scope.models.published.reference import Arrangement, MatrixProduct, Reference
from scope.models.published.reproduction import Row
from scope.samples.records import LaunchRecord
from scope.samples.samples import CaseSamples, Samples
from scope.statistics.summary import Summary
from scope.topology.topology import Topology

UNIT = "Gflop/s"
COUNTED = "_bytes"
"""Names of the link counters among the observations of a case: `HERE>THERE_bytes`."""


@dataclass(frozen=True)
class Measured:
    """A product that was measured here."""

    time: Summary
    told: list[Crossing]
    """Bytes that leave and enter each group according to its messages; empty where these are not known."""
    counted: dict[str, Crossing]
    """The same according to the counters of the group's trunk; empty where nothing was counted."""

    @property
    def seconds(self) -> float:
        """The median time."""
        return self.time.median or 0.0

    @property
    def flops(self) -> float:
        """The nominal floating-point operations of a product."""
        return 2.0 * int(self.time.parameters["n"]) ** 3

    @property
    def limit_s(self) -> float | None:
        """Busy time of the busiest uplink: from the messages or, where these are not known, the counters."""
        return busy_s(self.told) or busy_s(list(self.counted.values())) or None


def measured(summaries: Sequence[Summary], samples: Samples, topology: Topology) -> list[Measured]:
    """Return every product of a run that has a time, with the bytes sent from group to group."""
    launches = {one.batch: one for one in samples.launches}
    cases = samples.by_case()
    found = []
    for one in summaries:
        launch = launches.get(one.batch)
        if one.benchmark in PRODUCTS and one.metric == "time_s" and one.is_headline and launch is not None:
            found.append(Measured(one, told(one, launch, topology), counted(cases[one.samples_key], topology)))
    return found


def told(case: Summary, launch: LaunchRecord, topology: Topology) -> list[Crossing]:
    """Return the bytes that a product's own messages carry into and out of each group."""
    product = product_of(case.benchmark, case.parameters, case.ranks)
    return crossings(sent_bytes(product), hosts_of(launch), topology) if product.known else []


def hosts_of(launch: LaunchRecord) -> list[str]:
    """Return the host of each rank."""
    return [process.host for process in sorted(launch.processes, key=lambda process: process.rank)]


def counted(launches: Sequence[CaseSamples], topology: Topology) -> dict[str, Crossing]:
    """Return, for each group that is one end of one trunk, the mean bytes of a product over it."""
    means: dict[str, list[float]] = {}
    for times in (times for case in launches for times in case.times):
        for name, values in times.observed.items():
            if ">" in name and name.endswith(COUNTED) and times.counted.any():
                bytes_each = values[:, times.counted].max(axis=0)  # rank 0 counts for all
                means.setdefault(name.removesuffix(COUNTED), []).append(float(bytes_each.mean()))
    ways = {tuple(name.split(">")): float(np.mean(values)) for name, values in means.items()}
    found = {}
    for group in topology.group:
        out = [size for (here, _), size in ways.items() if here == group.name]
        into = [size for (_, there), size in ways.items() if there == group.name]
        if len(out) == len(into) == 1:
            rate, duplex = group.uplink_bytes_per_s, group.uplink_duplex
            found[group.name] = Crossing(group.name, out[0], into[0], rate, duplex)
    return found


@dataclass(frozen=True)
class _Here:
    """The counterpart of the published experiment here."""

    reference: Reference
    sizes: Mapping[int, int]
    found: Sequence[Measured]

    def size(self, published: int) -> int:
        return self.sizes.get(published, published)

    def get(self, product: MatrixProduct, arrangement: Arrangement, block: int) -> Measured | None:
        """Return the product with the counterpart of a published block size."""
        wanted = {
            **product.parameters,
            "n": self.size(self.reference.product_size),
            "block": self.size(block),
            "grid_rows": arrangement.grid_rows,
            "grid_order": arrangement.grid_order,
        }
        return next(
            (
                one
                for one in self.found
                if (one.time.benchmark, one.time.transport) == (product.benchmark, product.transport)
                and wanted.items() <= one.time.parameters.items()
            ),
            None,
        )


def rows(reference: Reference, sizes: Mapping[int, int], found: Sequence[Measured]) -> list[Row]:
    """Return the rate by block size, time and loss of each arrangement, and the bytes over each trunk.

    `sizes`: the size here by published size.
    """
    here = _Here(reference, sizes, found)
    parts = (_blocks, _times, _losses, _bytes)
    return [row for product in reference.product for part in parts for row in part(here, product)]


def _blocks(here: _Here, product: MatrixProduct) -> Iterator[Row]:
    """Yield the rate with each block size, and the ratio of the fastest to the slowest."""
    first = here.reference.arrangement[0]
    ours = [here.get(product, first, block.size) for block in here.reference.block]
    rates = [one.flops / one.seconds / 1e9 for one in ours if one is not None]
    if len(rates) < len(ours) and not (product.published or len(rates) > 1):
        return
    for block, one in zip(here.reference.block, ours, strict=True):
        yield _row(
            here,
            f"{product.words}, {first.words}, block {block.size}",
            one,
            UNIT,
            published=block.gflops if product.published else None,
            measured=one.flops / one.seconds / 1e9 if one else None,
            limit=one.flops / one.limit_s / 1e9 if one and one.limit_s else None,
            remark=f"limit: what the busiest trunk allows; block {here.size(block.size)} here",
        )
    published = [block.gflops for block in here.reference.block]
    yield _row(
        here,
        f"{product.words}, fastest block over slowest",
        next((one for one in ours if one is not None), None),
        "1",
        published=max(published) / min(published) if product.published else None,
        measured=max(rates) / min(rates) if len(rates) > 1 else None,
    )


def _times(here: _Here, product: MatrixProduct) -> Iterator[Row]:
    for arrangement in here.reference.arrangement:
        one = here.get(product, arrangement, here.reference.product_block)
        if one is not None:
            words = f"{product.words}, {arrangement.words}"
            remark = "limit: the busiest trunk"
            yield _row(here, words, one, "s", measured=one.seconds, limit=one.limit_s, remark=remark)


def _losses(here: _Here, product: MatrixProduct) -> Iterator[Row]:
    """Yield the share of the rate that each other arrangement loses; predicted from the busiest trunk alone."""
    first, *others = here.reference.arrangement
    base = here.get(product, first, here.reference.product_block)
    for other in others:
        one = here.get(product, other, here.reference.product_block)
        published = other.lost if product.published else None
        words = f"{product.words}, lost by {other.words}"
        if base is not None and one is not None:
            busy = busy_s(base.told), busy_s(one.told)
            predicted = 1 - busy[0] / busy[1] if all(busy) else None
            remark = "predicted from the busiest trunk alone" if predicted is not None else ""
            lost = 1 - base.seconds / one.seconds
            yield _row(
                here, words, one, "1", published=published, predicted=predicted, measured=lost, remark=remark
            )
        elif published is not None:
            yield _row(here, words, None, "1", published=published)


def _bytes(here: _Here, product: MatrixProduct) -> Iterator[Row]:
    """Yield the bytes of each arrangement over each trunk, busier direction: from messages, and as counted."""
    for arrangement in here.reference.arrangement:
        one = here.get(product, arrangement, here.reference.product_block)
        if one is None:
            continue
        for name in one.counted or {each.group: each for each in one.told}:
            by_messages = next((each for each in one.told if each.group == name), None)
            by_trunk = one.counted.get(name)
            yield _row(
                here,
                f"{product.words}, {arrangement.words}: bytes over the trunk of {name}",
                one,
                "B",
                predicted=by_messages.busier_bytes if by_messages else None,
                measured=by_trunk.busier_bytes if by_trunk else None,
                remark="its busier direction; predicted: payload of the messages; measured: the trunk's counter",
            )


def _row(
    here: _Here,
    words: str,
    one: Measured | None,
    unit: str,
    *,
    published: float | None = None,
    predicted: float | None = None,
    measured: float | None = None,
    limit: float | None = None,
    remark: str = "",
) -> Row:
    known = measured is not None and one is not None
    return Row(
        row=words,
        published=published,
        predicted=predicted,
        measured=measured,
        unit=unit,
        limit=limit,
        origin=one.time.origin if known and one else "simulated" if predicted is not None else "published",
        size=int(one.time.parameters["n"]) if one else here.reference.product_size,
        ranks=one.time.ranks if one else 0,
        remark=remark if known else "not measured here",
    )
