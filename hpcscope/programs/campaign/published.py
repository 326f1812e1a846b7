"""The values that a published study asks for, as measured by a campaign."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hpcscope.models.published.observed import ReadValue
from hpcscope.models.published.statement import StatementReading
from hpcscope.programs.campaign import folder as folders
from hpcscope.programs.campaign.analysis import Analysis, analyse
from hpcscope.programs.campaign.configurations import all_features, spread, well
from hpcscope.programs.campaign.folder import CampaignFolder, Head
from hpcscope.programs.campaign.record import RunRecord, read
from hpcscope.samples.records import Origin
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.ratio import PerLaunch

OF_PLACEMENTS = ("slowdown", "by_computation", "by_communication", "inflation")
"""Features of a placement study that compare the two placements."""


@dataclass(frozen=True)
class ObservedCampaign:
    """The runs of a campaign over one transport; each counts as a launch."""

    head: Head
    records: list[RunRecord]
    analysis: Analysis

    @property
    def origin(self) -> Origin:
        """Origin of the values."""
        return "emulated" if self.head.lab else "measured"

    @property
    def processors(self) -> None:
        """None, which means no limit: each run records whether it was oversubscribed."""

    @property
    def invalid(self) -> str:
        """Empty: a campaign does not measure the links of its lab."""
        return ""

    def read(self, reading: StatementReading) -> ReadValue:
        """Return a median over the runs, or a result of their analysis."""
        ranks = reading.ranks or max((record.ranks for record in well(self.records)), default=0)
        if reading.cluster:
            measured = self._of_cluster(reading)
            found = self.analysis.clusters
            why = f"groups of runs: {len(found.groups)}" if found else "; ".join(self.analysis.absent)
        elif reading.feature == "serial_share":
            measured = self._serial_share(ranks)
            why = "Amdahl's law needs runs on two numbers of ranks, and a shorter time on the larger number"
        elif reading.feature in OF_PLACEMENTS:
            fixed = [comparison for comparison in self.analysis.comparisons if comparison.fixed == reading.fixed]
            measured = PerLaunch(getattr(fixed[0], reading.feature)) if fixed else None
            why = "; ".join(self.analysis.not_compared)
        else:
            measured, why = self._of_runs(reading, ranks), ""
        return ReadValue(measured, ranks=ranks, why_not="" if measured else why)

    def _of_runs(self, reading: StatementReading, ranks: int) -> PerLaunch | None:
        runs = [record for record in well(self.records) if record.ranks == ranks]
        each = {record.number: value for record in runs if (value := _feature(record, reading)) is not None}
        if not each:
            return None
        found = spread(np.array([*each.values()]))
        if len({record.point.key for record in runs}) > 1:
            return PerLaunch(Estimate(value=found.median))  # the spread comes from different problems
        return PerLaunch(found.estimate, each)

    def _serial_share(self, ranks: int) -> PerLaunch | None:
        """Return the serial fraction by Amdahl's law; with only two rank counts, by the law through both."""
        laws = [speedup.law for speedup in self.analysis.speedups if speedup.law]
        if laws:
            return PerLaunch(laws[0].serial_share)
        times = [self._of_runs(StatementReading(feature="wall_s"), count) for count in (1, ranks)]
        known = [launch.estimate.value for launch in times if launch]
        if ranks < 2 or len(known) < len(times) or known[0] < known[1]:
            return None
        return PerLaunch(Estimate(value=(ranks * known[1] / known[0] - 1) / (ranks - 1)))

    def _of_cluster(self, reading: StatementReading) -> PerLaunch | None:
        """Return the fraction of runs in a group, or a feature's mean over the group; None without it."""
        found = self.analysis.clusters
        if found is None or reading.cluster > len(found.groups):
            return None
        group = found.groups[reading.cluster - 1]
        value = group.runs / found.runs if reading.feature == "share" else group.mean.get(reading.feature)
        return PerLaunch(Estimate(value=value)) if value is not None else None


def _feature(record: RunRecord, reading: StatementReading) -> float | None:
    if not reading.routine:
        return all_features(record).get(reading.feature)
    used = record.routines.get(reading.routine)
    return float(getattr(used, reading.feature)) if used else None


def observed(path: Path, transport: str) -> ObservedCampaign:
    """Read the runs of a campaign over one transport."""
    folder = CampaignFolder(path)
    head = folders.read(folder)
    records = [record for record in read(folder.records) if record.transport == transport]
    return ObservedCampaign(head, records, analyse(head, records))
