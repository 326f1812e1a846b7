"""Rounds measured in turn: a rate is the work of its own side over the time; sides may differ in their work."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

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
