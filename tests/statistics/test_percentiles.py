"""The 99th percentile is given where there are values for it, and absent elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.statistics.figures import as_rate, describe


@pytest.mark.parametrize(("number", "given"), [(99, False), (100, True)])
def test_a_percentile_needs_a_hundred_values(number: int, given: bool) -> None:
    figures = describe([np.arange(1.0, number + 1)])
    assert figures.maximum == number
    assert (figures.p99 is not None) == given
    assert (as_rate(figures, 1.0).p99 is not None) == given


def test_the_percentile_of_a_rate_is_that_of_the_shortest_times() -> None:
    figures = describe([np.arange(1.0, 201.0)])
    assert figures.p01 is not None
    assert as_rate(figures, 10.0).p99 == 10.0 / figures.p01
