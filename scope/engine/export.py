"""Profiles of monitored runs in the formats of other programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from scope.errors import UsageError
from scope.profiles import exports, folder, trace
from scope.profiles.merged import PROFILE, merge, read

CHROME = "chrome"


def exported(runs: Sequence[Path], name: str) -> str:
    """Return the profiles of monitored runs in a format: csv, files, extrap, hatchet or chrome."""
    if name == CHROME:
        return _chrome(runs)
    if name not in exports.names():
        raise UsageError(f"--as {name}: must be one of {', '.join([*exports.names(), CHROME])}")
    return exports.writer(name)([read(run) if (run / PROFILE).is_file() else merge(run) for run in runs])


def _chrome(runs: Sequence[Path]) -> str:
    """Return the trace of a monitored run; UsageError where it has none."""
    if len(runs) != 1:
        raise UsageError("--as chrome: must have one run")
    profiles = folder.job(runs[0]).profiles
    if not any(len(one.tables["events"]) for one in profiles):
        raise UsageError(f"{runs[0]}: has no trace; `scope monitor --trace START:SECONDS` keeps every call")
    hosts = {one.rank: one.host for one in profiles}
    return json.dumps(trace.chrome(trace.gather(profiles), hosts), allow_nan=False) + "\n"
