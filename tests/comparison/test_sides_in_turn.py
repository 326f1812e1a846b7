"""Rounds measured in turn: a rate is the work of its own side over the time; sides may differ in their work."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from hpcscope.comparison import paired
from hpcscope.engine.compare import compare
from hpcscope.rundirectory import RunDirectory
from hpcscope.statistics.summarise import summarise
from tests.declared import catalog


def test_a_rate_of_a_round_is_its_work_over_its_time(golden_raw: Path) -> None:
    run = SimpleNamespace(directory=RunDirectory(golden_raw), side=SimpleNamespace(catalog=catalog()))
    found = compare._measured(cast(Any, run), launches=1)
    samples = compare.read_samples(golden_raw, catalog())
    rates = [one for one in summarise(samples, catalog()) if one.primary and one.better == "higher" and one.work]
    compared = 0
    for one in rates:
        measured = found[one.key].get(one.metric)
        if measured is None or one.definition == "observed" or one.median is None:
            continue
        compared += 1
        assert np.median(list(measured.rounds.values())) == pytest.approx(one.median, rel=0.1), one.label
    assert compared > 3


def test_the_columns_of_a_comparison_lie_as_its_ratio_does(golden_raw: Path) -> None:
    """B takes 1.3 times as long in most rounds; its median is smaller, since the machine changed."""
    known = next(
        one for one in summarise(compare.read_samples(golden_raw, catalog()), catalog()) if one.is_headline
    )
    a = compare.Measured(known, "time", {0: 1.0, 1: 1.0, 2: 3.0, 3: 3.1, 4: 3.2})
    b = compare.Measured(known, "time", {0: 1.3, 1: 1.3, 2: 3.9, 3: 1.1, 4: 1.1})
    case = compare._case(a, b)
    found = paired.together(case.rounds, 1, 1.05)
    judged = compare._decided(case, found, ("inconclusive", ""))
    assert np.median(list(b.rounds.values())) < np.median(list(a.rounds.values()))
    assert judged.ratio == judged.b_median / judged.a_median == pytest.approx(found.ratio)
    assert found.ratio > 1 or judged.b_median < judged.a_median
