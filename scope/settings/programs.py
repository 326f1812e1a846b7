"""How programs are run, again and again, by `scope campaign`, `placement`, `soak` and `throughput`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from scope.settings.experiment import MOST_RANKS
from scope.settings.kinds import DAY_S, HOUR_S, Duration, Flag, Kind, Text, Whole
from scope.settings.table import Setting, Table

_check = Setting(
    Kind(metavar="COMMAND"), "Command that reads the output of a run and exits with 0 if it is correct."
)
_limit = Setting(Duration(0, 30 * DAY_S, above=True), "When a run is ended; default: after 1h.")
_transport = Setting(
    Text(metavar="NAME"), "What carries MPI messages: default, or tcp, also inside a host; or active-messages."
)
_repetitions = Whole(1, 10_000)


@dataclass(frozen=True)
class CampaignSettings(Table):
    """What may be given beside a study."""

    repetitions: Annotated[
        int | None, Setting(_repetitions, "Number of runs of each configuration, instead of the study's.")
    ] = None


@dataclass(frozen=True)
class PlacementSettings(Table):
    """A program packed on few nodes and spread over many."""

    ranks: Annotated[int | None, Setting(Whole(1, MOST_RANKS), "Number of ranks; default: one for each host.")] = (
        None
    )
    repetitions: Annotated[int, Setting(_repetitions, "Number of runs of each placement, in random order.")] = 8
    transport: Annotated[str, _transport] = "default"
    check: Annotated[str | None, _check] = None
    limit_s: Annotated[float | None, _limit] = None
    name: Annotated[str | None, Setting(Text(metavar="NAME"), "Name of the study; default: the program's.")] = None


@dataclass(frozen=True)
class SoakSettings(Table):
    """A program repeated for hours."""

    time_s: Annotated[
        float | None, Setting(Duration(0, 366 * DAY_S, above=True), "How long the program is repeated.")
    ] = None
    runs: Annotated[int | None, Setting(Whole(1), "Maximum number of runs.")] = None
    ranks: Annotated[int, Setting(Whole(1, MOST_RANKS), "Number of ranks of a program without a launcher.")] = 1
    transport: Annotated[str, _transport] = "default"
    check: Annotated[str | None, _check] = None
    limit_s: Annotated[float | None, _limit] = None
    interval_s: Annotated[
        float,
        Setting(Duration(0, HOUR_S, above=True), "Time between two readings of a process's memory."),
    ] = 0.1
    unmonitored: Annotated[
        bool, Setting(Flag(), "Without the monitor: only times and exit codes of any program.")
    ] = False


@dataclass(frozen=True)
class MixSettings(Table):
    """What may be given beside a mix."""

    rounds: Annotated[int | None, Setting(_repetitions, "Number of rounds; default: the mix's, else 6.")] = None
    time_s: Annotated[
        float | None,
        Setting(Duration(0, 366 * DAY_S, above=True), "Time of all rounds; none begins that would end later."),
    ] = None
