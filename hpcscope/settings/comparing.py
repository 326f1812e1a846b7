"""How published experiments are repeated, and how two sides are compared."""

from dataclasses import dataclass

from hpcscope.settings.kinds import DAY_S, HOUR_S, Duration, Flag, Share, Whole
from hpcscope.settings.table import SettingsTable, setting


@dataclass(frozen=True)
class ReproductionSettings(SettingsTable):
    """How a published experiment is repeated."""

    launches: int | None = setting(
        None, Whole(1, 1000), "Independent launches (mpiexec) of each case; default: as the experiment sets."
    )
    budget_s: float = setting(0.2, Duration(HOUR_S), "Time to sample each case in each launch (mpiexec).")
    time_s: float = setting(HOUR_S, Duration(366 * DAY_S, least=1), "With --all: total time of all experiments.")
    full: bool = setting(False, Flag(), "Use the published sizes, however long they take.")
    quick: bool = setting(False, Flag(), "With --all: one launch of 0.05 s per case; shows only curve shapes.")


@dataclass(frozen=True)
class ComparisonSettings(SettingsTable):
    """When a change counts, and how long it is measured."""

    threshold: float = setting(0.02, Share(), "Ignore relative changes below this fraction.")
    time_s: float = setting(300.0, Duration(30 * DAY_S), "Measurement time; each side is measured at least once.")


@dataclass(frozen=True)
class HistorySettings(SettingsTable):
    """Which changes of kept runs count, and how long they are measured again."""

    fail_on_regression: float | None = setting(
        None, Share(), "Exit with 1 if the last change made a value worse by more than this fraction, such as 5%."
    )
    time_s: float | None = setting(
        None, Duration(30 * DAY_S, least=1), "Time that --confirm may take; default: as for `scope run`."
    )
