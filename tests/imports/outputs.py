"""Excerpts of what real programs printed, and what a format reads there."""

from __future__ import annotations

from pathlib import Path

from scope import imports
from scope.imports import Figure, Reading
from scope.imports.lines import lines

DATA = Path(__file__).parent / "data"
NOISE = """Loading openmpi/4.1.4
  Loading requirement: gcc/12.2.0
srun: job 4711 queued and waiting for resources
--------------------------------------------------------------------------
WARNING: There was an error initializing an OpenFabrics device.
  Local host:   node017
slurmstepd: error: *** JOB 4711 ON node017 CANCELLED AT 2026-11-23T14:30:00 DUE TO TIME LIMIT ***
"""
"""What a batch system prints around and between the lines of a program."""


def text(name: str) -> str:
    """Return an excerpt."""
    return (DATA / name).read_text(encoding="utf-8")


def read(name: str, output: str) -> Reading:
    """Return what a format reads in an output that it claims."""
    found = lines(output)
    format_ = imports.format_of(name)
    assert format_.claims(found)
    return format_.read(found)


def unread(reading: Reading, output: str) -> list[str]:
    """Return the lines that were not understood."""
    understood = reading.understood | {one.line for one in reading.figures}
    left = [line for line in lines(output) if line.number not in understood]
    return [line.text for line in left if any(letter.isalnum() for letter in line.text)]


def figure(reading: Reading, metric: str, **parameters: object) -> Figure:
    """Return the one figure of a metric with these parameters."""
    found = [one for one in reading.figures if one.metric == metric]
    (one,) = [one for one in found if parameters.items() <= one.parameters.items()]
    return one


def mixed(output: str) -> str:
    """Return an output with a batch system's noise before and after, and a line of it in the middle."""
    shown = output.splitlines()
    half = len(shown) // 2
    return (
        NOISE
        + "\n".join([*shown[:half], "[node017:1234] 3 more processes have sent help message", *shown[half:]])
        + "\n"
        + NOISE
    )
