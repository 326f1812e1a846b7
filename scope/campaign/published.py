"""Published studies of programs beside the same studies repeated here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scope.campaign import folder as folders
from scope.campaign.analysis import Analysis, analyse
from scope.campaign.configurations import numbers, well
from scope.campaign.folder import CampaignFolder, Head
from scope.campaign.record import RunRecord, read
from scope.models.published.reference import StudyFigure, StudyOf
from scope.models.published.reproduction import Row


@dataclass(frozen=True)
class Done:
    """A study that was repeated on one network."""

    head: Head
    records: list[RunRecord]
    analysis: Analysis

    @property
    def ranks(self) -> int:
        """The largest number of processes of a successful run."""
        return max((record.ranks for record in well(self.records)), default=0)


def done(path: Path, transport: str) -> Done:
    """Read the runs over one transport of a study."""
    folder = CampaignFolder(path)
    head = folders.read(folder)
    records = [record for record in read(folder.records) if record.transport == transport]
    return Done(head, records, analyse(head, records))


def rows(study: StudyOf, found: Mapping[str, Done]) -> list[Row]:
    """Return the published figures in their order, each beside ours; `found` is by network."""
    return [_row(figure, study, found) for figure in study.figure]


def _row(figure: StudyFigure, study: StudyOf, found: Mapping[str, Done]) -> Row:
    one = found.get(figure.network)
    ranks = figure.ranks or (one.ranks if one else 0)
    measured = _value(figure, one, ranks)
    if figure.over:
        below = _value(figure, found.get(figure.over), ranks)
        measured = measured / below if measured is not None and below else None
    network = next(each for each in study.network if each.name == figure.network)
    remarks = [figure.remark, f"here: {network.words}"]
    if measured is None:
        why = _why(figure, one) if one else ""
        remarks.append(f"not measured here: {why}" if why else "not measured here")
    emulated = one is not None and bool(one.head.lab)
    return Row(
        row=figure.words,
        published=figure.published,
        predicted=None,
        measured=measured,
        unit=figure.unit,
        limit=None,
        origin="published" if measured is None else "emulated" if emulated else "measured",
        size=0,
        ranks=ranks,
        remark="; ".join(filter(None, remarks)),
        line=figure.line,
        column=figure.column,
    )


def _why(figure: StudyFigure, one: Done) -> str:
    if figure.quantity == "serial_share":
        return "Amdahl's law needs two numbers of processes, and the larger one must be faster"
    if figure.group:
        found = one.analysis.clusters
        return f"groups of runs: {len(found.groups)}" if found else "; ".join(one.analysis.absent)
    return "; ".join(one.analysis.not_compared)


def _value(figure: StudyFigure, one: Done | None, ranks: int) -> float | None:
    """Return our figure: a median over the runs, or a result of their analysis."""
    if one is None:
        return None
    if figure.quantity == "serial_share":
        laws = [each.law for each in one.analysis.speedups if each.law]
        return laws[0].serial_share.value if laws else _share_of_two(one, ranks)
    if figure.quantity == "speedup":
        return _speedup(one, ranks)
    if figure.group:
        return _of_group(figure, one)
    if figure.quantity in ("slowdown", "by_computation", "by_communication", "inflation"):
        for each in one.analysis.comparisons:
            if each.fixed == figure.fixed:
                return float(getattr(each, figure.quantity).value)
        return None
    runs = [record for record in well(one.records) if record.ranks == ranks]
    values = _of_routine(figure, runs) if figure.routine else _of_runs(figure, runs)
    return float(np.median(values)) if len(values) else None


def _speedup(one: Done, ranks: int) -> float | None:
    """Return the median elapsed time on one process over that on `ranks`."""
    times = [numbers([record for record in well(one.records) if record.ranks == n], "wall_s") for n in (1, ranks)]
    return float(np.median(times[0]) / np.median(times[1])) if all(map(len, times)) else None


def _share_of_two(one: Done, ranks: int) -> float | None:
    """Return the serial share of Amdahl's law through two numbers of processes; None where more take longer."""
    speedup = _speedup(one, ranks)
    return (ranks / speedup - 1) / (ranks - 1) if speedup and speedup >= 1 and ranks > 1 else None


def _of_group(figure: StudyFigure, one: Done) -> float | None:
    """Return the share of the runs in a group, or the mean of a feature there; None without such a group."""
    found = one.analysis.clusters
    if found is None or figure.group > len(found.groups):
        return None
    group = found.groups[figure.group - 1]
    return group.runs / found.runs if figure.quantity == "group_share" else group.mean.get(figure.feature)


def _of_runs(figure: StudyFigure, runs: Sequence[RunRecord]) -> Sequence[float]:
    wall, cpu, mpi = (numbers(runs, name) for name in ("wall_s", "cpu_s", "mpi_s"))
    values = {
        "wall": wall,
        "cpu": cpu,
        "difference": wall - cpu,
        "ratio": wall / cpu,
        "mpi": mpi,
        "mpi_share": mpi / wall,
        "compute": numbers(runs, "compute_s"),
    }
    return [float(value) for value in values[figure.quantity]]


def _of_routine(figure: StudyFigure, runs: Sequence[RunRecord]) -> Sequence[float]:
    found = []
    for record in runs:
        used = record.routines.get(figure.routine)
        if used is None:
            continue
        values = {
            "routine": used.seconds,
            "routine_share": used.seconds / record.features["mpi_s"],
            "routine_bytes": used.bytes / used.calls,
            "routine_calls": used.calls,
        }
        found.append(values[figure.quantity])
    return found
