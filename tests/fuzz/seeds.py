"""Inputs that once were answered wrongly: tried before any other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("seeds.txt")


@dataclass(frozen=True)
class Seed:
    """One input: its kind, and the numbers that decide it."""

    kind: str
    seed: int
    number: int


def stored() -> list[Seed]:
    """Return all of them; a line is `KIND SEED NUMBER  # what it was`."""
    lines = [line.partition("#")[0].split() for line in FILE.read_text().splitlines()]
    return [Seed(kind, int(seed), int(number)) for kind, seed, number in filter(None, lines)]
