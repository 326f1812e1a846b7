"""What it means to try a kind of finding, and where all kinds are that are tried so."""

from __future__ import annotations

from dataclasses import dataclass

from hpcscope.findings.results import Run
from tests.findings.faulty_runs import Change


@dataclass(frozen=True)
class Tried:
    """Contexts that decide whether a kind of finding does what it is for."""

    code: str
    """How the code of its findings begins."""
    fires: list[Change]
    """Contexts in which it must fire ..."""
    silent: list[Change]
    """... and in which it must not."""


def as_it_is(run: Run) -> Run:
    """The golden run itself."""
    return run
