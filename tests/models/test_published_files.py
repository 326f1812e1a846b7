"""Published figures of files beside ours: appendix E of the thesis, and the score of IO500."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scope.models.published import files, phases
from scope.models.published.judgement import Known, Observed
from scope.models.published.judgement import rows as rows_of
from scope.models.published.reference import load
from scope.statistics.summary import Summary
from tests.declared import catalog
from tests.models.curves import measured as models_of
from tests.models.curves import noisy, summary


def rate(value: float, benchmark: str, ranks: int, metric: str = "bandwidth_bytes_per_s", **given: Any) -> Summary:
    times = noisy(np.random.default_rng(ranks), value, spread=1e-6)
    parameters = {**catalog().defaults(benchmark), **given}
    unit = catalog()[benchmark].metric[metric].unit
    return summary(times, benchmark, metric, "max_rank", ranks, unit=unit, **parameters)


def test_curves_of_appendix_e_with_the_printed_bound_and_words() -> None:
    measured = [
        rate(1e5 * ranks**0.5 * (2 if transfer > 4096 else 1), f"storage.{operation}", ranks, interface="mpiio",
             file_bytes=1 << 20, transfer_bytes=transfer)
        for operation in ("write", "read", "rewrite")
        for ranks in (1, 2, 4)
        for transfer in (4096, 65536)
    ]  # fmt: skip
    rows = {row.row: row for row in files.rows(load("scope-appendix-e"), measured)}
    assert len(rows) == 9 * 2 + 3 + 3
    point = rows["writing, 2 nodes (E.5), 2 MiB in blocks of 64 KiB"]
    assert (point.limit, point.published) == (1.28e6, None), "the text prints the bound and no point"
    assert point.measured == pytest.approx(2e5 * 2**0.5, rel=1e-3)
    gain = rows["reading, 1 node (E.3): blocks of 64 KiB over 4 KiB"]
    assert gain.measured == pytest.approx(2, rel=1e-3)
    more = rows["rewriting, 4 nodes (E.10) over rewriting, 2 nodes (E.7)"]
    assert more.measured == pytest.approx(2**0.5, rel=1e-3)
    assert "slightly less" in more.remark
    one = load("scope-appendix-e")
    judged = rows_of(one.statement, Known(one.reading, {"": Observed(models_of(measured), [])}, {}, {}))
    holds = [(row.where, row.holds) for row in judged]
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
    rows = {row.row: row.measured for row in phases.rows(load("io500"), io500())}
    assert rows["bandwidth, geometric mean, GiB/s"] == pytest.approx(2**0.5, rel=1e-3)
    metadata = np.prod([4, 1, 2, 8, 0.5, 2, 4, 0.25]) ** (1 / 8)
    assert rows["metadata, geometric mean, 1000/s"] == pytest.approx(metadata, rel=1e-3)
    assert rows["score, sqrt(bandwidth x metadata)"] == pytest.approx((2**0.5 * metadata) ** 0.5, rel=1e-3)


def test_a_phase_that_lacks_leaves_no_score() -> None:
    rows = {row.row: row for row in phases.rows(load("io500"), io500()[1:])}
    assert rows["ior-easy-write, GiB/s"].measured is None
    assert rows["ior-easy-write, GiB/s"].remark
    assert rows["score, sqrt(bandwidth x metadata)"].measured is None
