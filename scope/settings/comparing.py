"""How published experiments are repeated, and how two sides are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from scope.settings.kinds import DAY_S, HOUR_S, Duration, Share, Whole
from scope.settings.table import Setting, Table


@dataclass(frozen=True)
class ReproductionSettings(Table):
    """How a published experiment is repeated."""

    launches: Annotated[
        int | None,
        Setting(
            Whole(1, 1000), "Number of independent launches (mpiexec) of each case; default: the experiment's."
        ),
    ] = None
    budget_s: Annotated[
        float, Setting(Duration(0, HOUR_S, above=True), "Sampling of each case in each launch.")
    ] = 0.2
    time_s: Annotated[
        float, Setting(Duration(1, 366 * DAY_S), "With --all: time of all experiments together.")
    ] = HOUR_S


@dataclass(frozen=True)
class ComparisonSettings(Table):
    """When a change counts, and how long it is measured."""

    threshold: Annotated[float, Setting(Share(), "Relative changes below this count as equal.")] = 0.02
    time_s: Annotated[
        float,
        Setting(
            Duration(0, 30 * DAY_S, above=True),
            "Time of measuring; one round is always measured.",
        ),
    ] = 300.0


@dataclass(frozen=True)
class HistorySettings(Table):
    """Which changes of kept runs count, and how long they are measured again."""

    fail_on_regression: Annotated[
        float | None,
        Setting(Share(), "Exit code 1 where the last change of a figure made it worse by more, such as 5%."),
    ] = None
    time_s: Annotated[
        float | None,
        Setting(Duration(1, 30 * DAY_S), "Time that --confirm may take; default: as scope run."),
    ] = None
