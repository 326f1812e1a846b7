"""Bootstrap draws of a summary's median, which carry its uncertainty through a model."""

import numpy as np

from hpcscope.models.fitting.curve import relative_noise
from hpcscope.samples.samples import Floats
from hpcscope.statistics import bootstrap
from hpcscope.statistics.summary import Summary


def draw(summary: Summary, random: np.random.Generator, count: int = bootstrap.DRAWS) -> Floats:
    """Return the median itself, then `count` draws of it from the launch medians; shape (1 + count,)."""
    launches = np.array(summary.launch_medians, dtype=np.float64)
    return bootstrap.medians(launches, float(summary.median or 0.0), relative_noise(summary), random, count)
