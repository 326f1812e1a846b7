"""Estimated times of collectives on a topology, by `scope-estimate`, which knows their schedules."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from hpcscope.commands import captured
from hpcscope.errors import ScopeError

TIMEOUT_S = 60.0
LIMIT = "limit"
"""The lower bound on the time, which is listed like an algorithm."""
LIBRARY = "library"
"""The algorithm that the MPI library would choose, if its decisions are known."""


class AlgorithmEstimate(BaseModel):
    """The estimate of one algorithm."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    algorithm: str
    seconds: float
    chosen: bool = False
    """Whether the collectives would choose it."""


def estimate(
    estimator: Path, topology: Path, operation: str, message_bytes: int, hosts: Sequence[str]
) -> dict[str, AlgorithmEstimate]:
    """Return the estimate of every algorithm of an operation with root 0, by its name.

    `hosts`: the host of each rank. `LIBRARY` stands for the MPI for which the estimator was compiled. Raises
    ScopeError with the message of the estimator.
    """
    words = [str(estimator), str(topology), operation, str(message_bytes), "--hosts", ",".join(hosts)]
    try:
        answer = captured(words, TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise ScopeError(f"{estimator.name}: no estimate of {operation} within {TIMEOUT_S:g} s") from error
    if answer.returncode != 0:
        raise ScopeError(f"{estimator.name}: {answer.stderr.strip() or answer.stdout.strip()}")
    lines = [line for line in answer.stdout.splitlines() if line.strip()]
    estimates = [AlgorithmEstimate.model_validate_json(line) for line in lines]
    return {estimate.algorithm: estimate for estimate in estimates}
