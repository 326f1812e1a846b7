"""What `scope tune` searches for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from scope.settings.experiment import MOST_RANKS
from scope.settings.kinds import Choice, Duration, Several, Share, Size, Whole
from scope.settings.table import Setting, Table

_trials = Whole(1, 1000)
_launches = Setting(_trials, "Number of independent launches (mpiexec) of each trial; 6 give intervals.")


@dataclass(frozen=True)
class LinpackSearch(Table):
    """The settings of LINPACK to search."""

    n: Annotated[int | None, Setting(Whole(32, 1_000_000), "Order of the matrix in the last round.")] = None
    memory_fraction: Annotated[
        float,
        Setting(Share(0, 0.95, above=True), "Without --n: share of the available memory for the matrix."),
    ] = 0.8
    solution_s: Annotated[
        float,
        Setting(
            Duration(above=True),
            "Without --n: longest time of one solution; inf: the memory alone limits it.",
            option="solution-time",
        ),
    ] = 10.0
    ranks: Annotated[int | None, Setting(Whole(1, MOST_RANKS), "Number of ranks; default: all slots.")] = None
    blocks: Annotated[
        tuple[int, ...],
        Setting(
            Several(Whole(1, 4096), metavar="64,128"),
            "Block sizes (NB) to choose from; default: those that usually win.",
        ),
    ] = ()
    trials: Annotated[int, Setting(_trials, "Combinations of block size and grid to measure.")] = 8
    launches: Annotated[int, _launches] = 6


@dataclass(frozen=True)
class StorageSearch(Table):
    """The ways to access files to search."""

    direction: Annotated[Literal["write", "read"], Setting(Choice("write", "read"), "What is to be fast.")] = (
        "write"
    )
    file_bytes: Annotated[int, Setting(Size(1 << 16, 1 << 44), "Data of each rank.", option="file-bytes")] = (
        16 << 20
    )
    file: Annotated[
        Literal["shared", "per_process"] | None,
        Setting(Choice("shared", "per_process"), "Choose only among such files."),
    ] = None
    ranks: Annotated[
        tuple[int, ...],
        Setting(
            Several(Whole(1, MOST_RANKS), metavar="1,2,4"),
            "Numbers of ranks to choose from; default: powers of two.",
        ),
    ] = ()
    trials: Annotated[int, Setting(_trials, "Best predictions to measure.")] = 6
    launches: Annotated[int, _launches] = 6
