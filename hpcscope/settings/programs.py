"""How programs are run repeatedly by `scope campaign`, `placement`, `soak` and `throughput`."""

from dataclasses import dataclass

from hpcscope.settings.experiment import MOST_RANKS
from hpcscope.settings.kinds import DAY_S, HOUR_S, Choice, Duration, Flag, Kind, Text, Whole
from hpcscope.settings.table import SettingsTable, setting
from hpcscope.settings.transports import OF_COMMANDS

_check = (
    Kind(metavar="COMMAND"),
    "Command that reads the output of a run, and exits with 0 if the output is correct.",
)
_limit = (Duration(30 * DAY_S), "Time limit of a run; default: 1h.")
_transport = (
    Choice(*OF_COMMANDS),
    "Transport of MPI messages: tcp (also inside a host), or Scope's active messages.",
)
_repetitions = Whole(1, 10_000)


@dataclass(frozen=True)
class CampaignSettings(SettingsTable):
    """The settings that may be given in addition to a study."""

    repetitions: int | None = setting(
        None, _repetitions, "Number of runs of each configuration, instead of the study's."
    )


@dataclass(frozen=True)
class PlacementSettings(SettingsTable):
    """A program packed on few nodes and spread over many."""

    ranks: int | None = setting(None, Whole(1, MOST_RANKS), "Number of ranks; default: one for each host.")
    repetitions: int = setting(8, _repetitions, "Number of runs of each placement, in random order.")
    transport: str = setting("default", *_transport)
    check: str | None = setting(None, *_check)
    limit_s: float | None = setting(None, *_limit)
    name: str | None = setting(None, Text(metavar="NAME"), "Name of the study; default: the program's.")


@dataclass(frozen=True)
class SoakSettings(SettingsTable):
    """A program repeated for hours."""

    time_s: float | None = setting(None, Duration(366 * DAY_S), "Time during which the program is repeated.")
    runs: int | None = setting(None, Whole(1), "Maximum number of runs.")
    ranks: int = setting(1, Whole(1, MOST_RANKS), "Number of ranks, for programs started without a launcher.")
    transport: str = setting("default", *_transport)
    check: str | None = setting(None, *_check)
    limit_s: float | None = setting(None, *_limit)
    interval_s: float = setting(0.1, Duration(HOUR_S), "Time between two readings of a rank's memory.")
    unmonitored: bool = setting(False, Flag(), "Run without the monitor: record only times and exit codes.")


@dataclass(frozen=True)
class MixSettings(SettingsTable):
    """The settings that may be given in addition to a mix."""

    rounds: int | None = setting(None, _repetitions, "Number of rounds; default: `rounds` of the mix, or 6.")
    time_s: float | None = setting(
        None, Duration(366 * DAY_S), "Time limit of all rounds; no round begins that would exceed it."
    )
