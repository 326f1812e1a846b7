"""Many tests at once: how many of the rejected ones may be chance."""

from collections.abc import Sequence

import numpy as np

from hpcscope.samples.samples import Floats


def adjusted(p: Sequence[float]) -> Floats:
    """Return adjusted p: rejecting values below q keeps the expected fraction of false discoveries below q.

    Each p times the number of tests over its rank, made monotonic from the largest (Benjamini & Hochberg 1995,
    J. R. Stat. Soc. B 57 (1), 289-300). Shape (tests,).
    """
    values = np.asarray(p, dtype=np.float64)
    falling = np.argsort(-values)
    ranks = np.arange(values.size, 0, -1)
    result = np.empty(values.size)
    result[falling] = np.minimum.accumulate(np.minimum(values[falling] * values.size / ranks, 1.0))
    return result
