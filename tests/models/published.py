"""Published experiments beside runs of known truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hpcscope.models.published.judgement import KnownValues, compared
from hpcscope.models.published.observed import ObservedRun
from hpcscope.models.published.overview import ComparedValue
from hpcscope.models.published.reference import load
from hpcscope.models.scaling.speedup import speedups
from hpcscope.samples.records import LaunchRecord
from hpcscope.statistics.summary import Summary
from tests.models.curves import measured


def reproduced(
    name: str, summaries: Sequence[Summary], launches: Sequence[LaunchRecord] = (), **more: Any
) -> dict[str, ComparedValue]:
    """What an experiment prints beside the values of one run, by its words."""
    known = measured(summaries, launches)
    reference = load(name)
    run = ObservedRun(known, link_bits_per_s=reference.link_bits_per_s, speedups=speedups(known), **more)
    rows = compared(reference.statement, KnownValues(reference.reading, {"": run}, {}))
    found = {row.row: row for row in rows}
    assert len(found) == len(rows), "each has words of its own"
    return found
