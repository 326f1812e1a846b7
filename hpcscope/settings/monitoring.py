"""How `scope monitor` watches a program."""

from dataclasses import dataclass

from hpcscope.settings.kinds import HOUR_S, Choice, Duration, Flag, Number, Several, Text, Whole
from hpcscope.settings.table import SettingsTable, setting
from hpcscope.settings.transports import OF_COMMANDS

MOST_FRAMES = 32
"""Most frames of a call site (`frame_capacity` in monitor/src/tables.hpp)."""

_number = r"\d{1,9}(?:\.\d*)?"


@dataclass(frozen=True)
class MonitorSettings(SettingsTable):
    """How a command is monitored."""

    mpi: str | None = setting(
        None,
        Text(metavar="MPI"),
        "openmpi, mpich, embedded, a directory or an mpicxx; default: the program's MPI.",
    )
    interval_s: float = setting(0.1, Duration(HOUR_S, least=0.001), "Interval of the time series.")
    trace: str = setting(
        "0:0",
        Text(
            rf"{_number}:{_number}",
            "must be START:SECONDS, both 0 or more, such as 2.5:0.5",
            metavar="START:SECONDS",
        ),
        "Trace every call in this window after MPI_Init.",
    )
    depth: int | None = setting(
        None, Whole(0, MOST_FRAMES), f"Stack frames per call site; default: 1, or {MOST_FRAMES} with --sample."
    )
    sample_hz: float = setting(
        0.0,
        Number(0, 1000, metavar="HZ"),
        "Samples of the program's computation per second of CPU time.",
        option="sample",
    )
    wrappers: tuple[str, ...] = setting(
        (),
        Several(
            Text(r"[^,]+", "must be the name of a function or a pattern such as mp_*, without a comma"),
            repeated=True,
            metavar="PATTERN",
        ),
        "Functions that only pass calls on to MPI, such as mp_*; may be repeated. Needs --depth.",
        option="wrapper",
    )
    files: bool = setting(True, Flag(), "Count the program's file accesses.")
    transport: str = setting(
        "default",
        Choice(*OF_COMMANDS),
        "Transport of messages: tcp (also inside a host), or Scope's active messages below the program's MPI.",
    )

    @property
    def frames(self) -> int:
        """Frames that are recorded of each call site; 0: none."""
        return self.depth if self.depth is not None else MOST_FRAMES if self.sample_hz else 1
