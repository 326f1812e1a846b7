"""Published experiments beside runs of known truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    name: str,
    summaries: Sequence[Summary] | Mapping[str, Sequence[Summary]],
    launches: Sequence[LaunchRecord] = (),
    **more: Any,
) -> dict[str, ComparedValue]:
    """What an experiment prints beside the values of one run, or of a run at each place, by its words."""
    reference = load(name)
    runs = {}
    for place, own in (summaries if isinstance(summaries, Mapping) else {"": summaries}).items():
        known = measured(own, launches)
        rate = reference.link_bits_per_s
        runs[place] = ObservedRun(known, link_bits_per_s=rate, speedups=speedups(known), **more)
    rows = compared(reference.statement, KnownValues(reference.reading, runs, {}))
    found = {row.row: row for row in rows}
    assert len(found) == len(rows), "each has words of its own"
    return found
