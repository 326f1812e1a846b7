"""Published experiments beside runs of known truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scope.models.published.judgement import KnownValues, compared
from scope.models.published.observed import ObservedRun
from scope.models.published.overview import ComparedValue
from scope.models.published.reference import load
from scope.models.scaling.speedup import speedups
from scope.samples.records import LaunchRecord
from scope.statistics.summary import Summary
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
