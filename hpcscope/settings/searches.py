"""What `scope tune` searches for."""

from dataclasses import dataclass
from typing import Literal

from hpcscope.settings.experiment import MOST_RANKS
from hpcscope.settings.kinds import DAY_S, Choice, Duration, Several, Share, Size, Whole
from hpcscope.settings.table import SettingsTable, setting

_trials = Whole(1, 1000)
_launches = (_trials, "Launches (mpiexec) of each setting that is measured; at least 6 for 95 % CIs.")


@dataclass(frozen=True)
class LinpackSearch(SettingsTable):
    """The settings of LINPACK to search."""

    n: int | None = setting(None, Whole(32, 1_000_000), "Matrix order N of the final measurements.")
    memory_fraction: float = setting(
        0.8, Share(0.95, above=True), "Without --n: fraction of the available memory for the matrix."
    )
    solution_s: float = setting(
        10.0,
        Duration(),
        "Without --n: time limit of one solve; inf: only memory limits N.",
        option="solution-time",
    )
    ranks: int | None = setting(None, Whole(1, MOST_RANKS), "Number of ranks; default: all slots.")
    blocks: tuple[int, ...] = setting(
        (),
        Several(Whole(1, 4096), metavar="64,128"),
        "Block sizes (NB) to choose from; default: sizes that are often best.",
    )
    trials: int = setting(8, _trials, "Number of combinations of block size and grid to measure.")
    launches: int = setting(6, *_launches)


@dataclass(frozen=True)
class StorageSearch(SettingsTable):
    """The ways to access files to search."""

    direction: Literal["write", "read"] = setting("write", Choice("write", "read"), "Which bandwidth to optimize.")
    file_bytes: int = setting(16 << 20, Size(1 << 16, 1 << 44), "Amount of data per rank.", option="file-bytes")
    file: Literal["shared", "per_process"] | None = setting(
        None, Choice("shared", "per_process"), "One shared file, or one file per rank; default: both."
    )
    ranks: tuple[int, ...] = setting(
        (),
        Several(Whole(1, MOST_RANKS), metavar="1,2,4"),
        "Numbers of ranks to choose from; default: powers of two.",
    )
    trials: int = setting(6, _trials, "Number of combinations to measure, best predictions first.")
    time_s: float | None = setting(
        None,
        Duration(30 * DAY_S),
        "Time limit of the search. A shorter search measures fewer combinations; the calibration always runs.",
    )
    launches: int = setting(6, *_launches)
