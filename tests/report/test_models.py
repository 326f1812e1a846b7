"""What the page shows of models and of the settings that explain them."""

from __future__ import annotations

import numpy as np

from hpcscope.models.fitting.model import fit_all
from hpcscope.report.figure import estimates
from hpcscope.report.run.figures.residuals import _series
from hpcscope.report.run.parameters import outcomes
from hpcscope.report.run.provenance import _settings
from hpcscope.statistics.estimate import Estimate
from tests.declared import catalog
from tests.models.curves import measured, noisy, summary
from tests.models.test_library_settings import launch
from tests.models.test_loggp import overheads


def test_two_fits_of_one_case_have_residuals_of_their_own() -> None:
    fits, _ = fit_all(measured(overheads(np.random.default_rng(39))))
    drawn = _series([fit for fit in fits if fit.chosen], catalog())
    assert [name for name, _ in drawn] == ["LogGP parameters, 2 ranks", "LogGP parameters, 2 ranks: gap"]
    assert all(len({point.x for point in points}) == len(points) for _, points in drawn)


def test_residuals_on_several_numbers_of_ranks_name_each_once() -> None:
    random = np.random.default_rng(41)
    times = [
        summary(
            noisy(random, (1e-6 + size / 5e9) * np.log2(ranks)),
            *("mpi.broadcast", "time_s", "global", ranks),
            message_bytes=size,
        )
        for ranks in (2, 4, 8, 16)
        for size in (1024, 4096, 65536, 1 << 20)
    ]
    fits, _ = fit_all(measured(times))
    both = [fit for fit in fits if fit.chosen and fit.variable == "message_bytes_and_ranks"]
    names = [name for name, _ in _series(both, catalog())]
    assert names == [f"broadcast, {ranks} ranks" for ranks in (2, 4, 8, 16)]


def test_loggp_is_told_with_its_range() -> None:
    fits, _ = fit_all(measured(overheads(np.random.default_rng(40))))
    (told,) = outcomes([fit for fit in fits if fit.model == "loggp"])
    assert told.model == "LogGP"
    assert [name for name, _ in told.parameters][:5] == ["L", "o_s", "o_r", "g", "G per byte"]
    assert told.range == "0 B to 1 MiB"
    assert told.notes == next(fit.notes for fit in fits if fit.model == "loggp") != []


def test_settings_are_listed_with_all_their_values() -> None:
    (group,) = _settings(
        [launch({"btl_sm_eager_limit": 4096, "pml": "ob1"}), launch({"btl_sm_eager_limit": 2048})]
    )
    assert group.table is not None
    assert group.table.rows == [["btl_sm_eager_limit", "4096, 2048"], ["pml", "ob1, –"]]
    assert _settings([launch({})]) == []


def test_a_bound_of_zero_is_drawn_and_an_unknown_one_is_not() -> None:
    known = [(2.0, 0.0, 3.0), (5.0, None, None), (-1.0, -4.0, 0.0)]
    measured = [Estimate(value=value, low=low, high=high) for value, low, high in known]
    bars = estimates([1, 2, 3], measured, "time")["error_y"]
    assert bars["arrayminus"] == [2.0, 0.0, 3.0]
    assert bars["array"] == [1.0, 0.0, 1.0]
