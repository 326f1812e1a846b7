"""What collectives would take on a topology: asked of `scope-estimate`, which knows their schedules."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from scope.errors import ScopeError

PATIENCE_S = 60.0
LIMIT = "limit"
"""Called like an algorithm: the time below which nothing gets."""
LIBRARY = "library"
"""The MPI library's own, as far as its decisions are known."""


class Estimate(BaseModel):
    """One algorithm."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    algorithm: str
    seconds: float
    segment_bytes: int = 0
    chosen: bool = False
    """What the collectives would take."""


def estimate(
    estimator: Path, topology: Path, operation: str, message_bytes: int, hosts: Sequence[str], library: str
) -> dict[str, Estimate]:
    """Return the estimate of every algorithm of an operation from rank 0, by its name.

    `hosts` are those of the ranks. Raises ScopeError with the estimator's complaint.
    """
    words = [str(estimator), str(topology), operation, str(message_bytes)]
    words += ["--hosts", ",".join(hosts), "--library", library]
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise ScopeError(f"{estimator.name}: no estimate of {operation} within {PATIENCE_S:g} s") from error
    if answer.returncode != 0:
        raise ScopeError(f"{estimator.name}: {answer.stderr.strip() or answer.stdout.strip()}")
    found = [Estimate.model_validate(json.loads(line)) for line in answer.stdout.splitlines() if line.strip()]
    return {one.algorithm: one for one in found}
