"""What a simulation may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from scope.settings.kinds import DAY_S, Duration, Size
from scope.settings.table import Setting, Table


@dataclass(frozen=True)
class SimulationSettings(Table):
    """What a simulation may take."""

    memory_bytes: Annotated[
        int | None, Setting(Size(1), "Memory for the simulation; default: most of what is free.")
    ] = None
    limit_s: Annotated[
        float, Setting(Duration(0, 30 * DAY_S, above=True), "When a case, or the program, is ended.")
    ] = 120.0
