"""Published figures of files beside ours: appendix E of the thesis, and the score of IO500."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpcscope.statistics.summary import Summary
from tests.declared import catalog
from tests.models.curves import noisy, summary
from tests.models.published import reproduced


def rate(value: float, benchmark: str, ranks: int, metric: str = "bandwidth_bytes_per_s", **given: Any) -> Summary:
    times = noisy(np.random.default_rng(ranks), value, spread=1e-6)
    parameters = {**catalog().defaults(benchmark), **given}
    unit = catalog()[benchmark].metric[metric].unit
    return summary(times, benchmark, metric, "max_rank", ranks, unit=unit, **parameters)


def test_curves_of_appendix_e_with_the_printed_bound_and_words() -> None:
    measured: dict[str, list[Summary]] = {"own-disk": [], "shared": []}
    for place, ranks, file in (("own-disk", 1, 16 << 20), ("shared", 2, 1 << 20), ("shared", 4, 1 << 20)):
        for operation in ("write", "read", "rewrite"):
            for transfer, faster in ((4096, 1), (65536, 2)):
                value = 1e5 * ranks**0.5 * faster
                sizes = {"file_bytes": file, "transfer_bytes": transfer}
                measured[place].append(rate(value, f"storage.{operation}", ranks, interface="mpiio", **sizes))
    rows = reproduced("scope-appendix-e", measured)
    most = rows["writing on two nodes, at most"]
    assert (most.published, most.relation) == (1.28e6, "below 1.28 MB/s"), "the text prints the bound and no point"
    assert not most.direction_only, "the printed value is the bound"
    assert most.measured == pytest.approx(2e5 * 2**0.5, rel=1e-3)
    gain = rows["reading on one node: blocks of 64 KiB / 4 KiB"]
    assert gain.measured == pytest.approx(2, rel=1e-3)
    more = rows["rewriting: four nodes / two"]
    assert more.measured == pytest.approx(2**0.5, rel=1e-3)
    assert "slightly" in more.says
    holds = [(row.where, row.holds) for row in rows.values()]
    assert holds == [
        *[("section E.5.1", "yes")] * 3,
        *[("section E.5.2", "yes")] * 6,
        *[("section E.5.3", "no")] * 3,
    ], "larger blocks gain, all are below the network's bound, and four nodes are faster than two"


def io500() -> list[Summary]:
    easy, hard = {"file": "per_process"}, {"file": "shared", "layout": "strided", "transfer_bytes": 47008}
    rates = [
        rate(2.0 * (1 << 30), "storage.write", 4, **easy),
        rate(0.5 * (1 << 30), "storage.write", 4, **hard),
        rate(4.0 * (1 << 30), "storage.read", 4, cache="other_rank", **easy),
        rate(1.0 * (1 << 30), "storage.read", 4, cache="other_rank", **hard),
    ]
    own, shared = {"folder": "own"}, {"folder": "shared", "file_bytes": 3901}
    return rates + [
        rate(value, "storage.metadata", 4, f"{name}_per_s", **where)
        for name, where, value in (
            *(("create", own, 4000), ("create", shared, 1000), ("list", shared, 2000), ("stat", own, 8000)),
            *(("stat", shared, 500), ("remove", own, 2000), ("open", shared, 4000), ("remove", shared, 250)),
        )
    ]


def test_the_score_is_computed_as_the_rule_says() -> None:
    rows = {name: row.measured for name, row in reproduced("io500", io500()).items()}
    assert rows["bandwidth, geometric mean"] == pytest.approx(2**0.5, rel=1e-3)
    metadata = np.prod([4, 1, 2, 8, 0.5, 2, 4, 0.25]) ** (1 / 8)
    assert rows["metadata, geometric mean"] == pytest.approx(metadata, rel=1e-3)
    assert rows["score, sqrt(bandwidth x metadata)"] == pytest.approx((2**0.5 * metadata) ** 0.5, rel=1e-3)


def test_a_phase_that_lacks_leaves_no_score() -> None:
    rows = reproduced("io500", io500()[1:])
    assert rows["ior-easy-write"].measured is None
    assert rows["ior-easy-write"].remark
    assert rows["score, sqrt(bandwidth x metadata)"].measured is None


def test_no_part_of_a_file_in_memory_is_a_result() -> None:
    easy = {"file": "per_process", "cache": "other_rank"}
    one = rate(1e9, "storage.read", 4, "resident_share", **easy)
    for share in (0.0, 0.5):
        made = one.model_copy(update={"definition": "observed", "median": share, "launch_medians": [share] * 6})
        row = reproduced("io500", [made])["ior-easy-read, share of the file in the page cache"]
        assert row.measured == share
