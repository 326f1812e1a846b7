"""The monitor under the runs of a study."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hpcscope.machine import discover
from hpcscope.machine.machine import Machine, MpiInstallation
from hpcscope.programs.campaign.execution import Outcome
from hpcscope.programs.profiles.folder import PROFILES
from hpcscope.programs.profiles.monitored_run import MONITOR, Monitored, Options
from hpcscope.rundirectory import FORMAT, write_json
from hpcscope.version import VERSION

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Monitor:
    """The monitor library for one MPI, and its options."""

    mpi: MpiInstallation
    library: Path
    options: Options
    machine: Machine

    def settings(self, folder: Path) -> dict[str, str]:
        """Return the variables that let the processes of a run write their profiles into its folder."""
        return {
            "LD_PRELOAD": ":".join(filter(None, [str(self.library), os.environ.get("LD_PRELOAD", "")])),
            "SCOPE_MONITOR": str(folder / PROFILES),
            "SCOPE_MONITOR_OPTIONS": self.options.words(),
        }

    def note(self, folder: Path, command: Sequence[str], outcome: Outcome) -> None:
        """Write `monitor.json`, which makes the folder of a run that of a monitored run."""
        code = outcome.exit_code
        ended = Monitored(
            format=FORMAT,
            scope_version=VERSION,
            command=list(command),
            directory=str(Path.cwd()),
            started_unix_s=outcome.started_unix_s,
            finished_unix_s=outcome.started_unix_s + outcome.elapsed_s,
            wall_s=outcome.elapsed_s,
            exit_code=code if code is not None and code < 128 else None,
            signal=None if code is None or code < 128 else code - 128,
            host=os.uname().nodename,
            mpi=self.mpi,
            library=str(self.library),
            options={
                "interval_s": f"{self.options.interval_s:g}",
                "trace": self.options.trace,
                "depth": str(self.options.frames),
            },
            machine=self.machine,
        )
        write_json(folder / MONITOR, ended)


def monitor_of(mpi: MpiInstallation, interval_s: float) -> Monitor:
    """Return the monitor for an MPI; a notice says when it must be compiled first."""
    from hpcscope.build import monitor

    if monitor.built(mpi) is None:
        logger.info("compiling the monitor for %s %s ...", mpi.name, mpi.version)
    options = Options(interval_s=interval_s, depth=0)
    return Monitor(mpi, monitor.build(mpi), options, discover.machine([discover.this_host()], None))
