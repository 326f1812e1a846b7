"""What a simulation may take."""

from __future__ import annotations

from dataclasses import dataclass

from scope.settings.kinds import DAY_S, Duration, Size
from scope.settings.table import Table, setting


@dataclass(frozen=True)
class SimulationSettings(Table):
    """What a simulation may take."""

    memory_bytes: int | None = setting(None, Size(1), "Memory for the simulation; default: most of what is free.")
    limit_s: float = setting(120.0, Duration(30 * DAY_S), "When a case, or the program, is ended.")
