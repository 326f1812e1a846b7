"""HPL.dat, the input file of HPL, as cases of `algorithm.linpack`.

The format is HPL 2.3's: two lines of text, then a number or a list of numbers at the beginning of each line,
whose rest is a remark. How HPL factors a panel (PFACTs, NBMINs, NDIVs, RFACTs, the forms of L1 and U) has no
counterpart: Scope factors panels in one way.
"""

from pathlib import Path
from typing import Any

from hpcscope.errors import UsageError
from hpcscope.rundirectory import read_text

SUFFIX = ".dat"
BENCHMARK = "algorithm.linpack"
BROADCASTS = {0: "ring", 1: "ring_modified", 4: "long", 5: "long"}
"""Broadcasts by HPL's number; 2 and 3, two rings at once, have no counterpart."""
SWAPS = {0: "binomial", 1: "long", 2: "long"}
"""Row exchanges by HPL's number; its mix of both, 2, becomes the one for wide pieces."""
_LINES = {"Ns": 5, "NBs": 7, "PMAP": 9, "Ps": 10, "BCASTs": 22, "DEPTHs": 24, "SWAP": 26}
"""Line numbers, from 1: of the count before the line with the values; for PMAP and SWAP of the value itself."""


def read(file: Path) -> list[dict[str, Any]]:
    """Return one `[[case]]` for each grid of the file.

    Raises UsageError naming the file, the line and what it must be.
    """
    lines = read_text(file).splitlines()
    counted = {name: _counted(file, lines, name) for name in ("Ns", "NBs", "Ps", "BCASTs", "DEPTHs")}
    columns = _numbers(file, lines, _LINES["Ps"] + 2, len(counted["Ps"]))
    (mapping,) = _numbers(file, lines, _LINES["PMAP"], 1)
    (swap,) = _numbers(file, lines, _LINES["SWAP"], 1)
    ways = list(dict.fromkeys(_known(file, "BCASTs", number, BROADCASTS) for number in counted["BCASTs"]))
    depths = list(dict.fromkeys(_known(file, "DEPTHs", number, {0: "0", 1: "1"}) for number in counted["DEPTHs"]))
    cases = []
    for rows, across in zip(counted["Ps"], columns, strict=True):
        if rows < 1 or across < 1:
            raise UsageError(f"{file}: a grid of {rows} x {across}: must be at least 1 x 1")
        if mapping != 0 and min(rows, across) > 1:
            raise UsageError(f"{file}: PMAP = {mapping}: must be 0 (row-major) for a {rows} x {across} grid")
        cases.append(
            {
                "benchmark": BENCHMARK,
                "ranks": rows * across,
                "n": [number for number in counted["Ns"] if number > 0],
                "block": counted["NBs"],
                "grid_rows": rows,
                "grid_columns": across,
                "broadcast": ways,
                "swap": _known(file, "SWAP", swap, SWAPS),
                "look_ahead": depths,
            }
        )
    if not any(number > 0 for number in counted["Ns"]):
        raise UsageError(f"{file}: Ns: at least one size must be above 0")
    return cases


def written(case: dict[str, Any], title: str) -> str:
    """Return the HPL.dat of one case with a value for each parameter; `title` is its second line.

    Threshold, panels, transpositions and alignment are those of HPL's own example. HPL has no tree: `binomial`
    becomes the modified ring.
    """
    broadcast = next((number for number, name in BROADCASTS.items() if name == case["broadcast"]), 1)
    swap = next(number for number, name in SWAPS.items() if name == case["swap"])
    values = [
        ("HPL.out", "output file name (if any)"),
        (6, "device out (6: the terminal)"),
        (1, "number of sizes"),
        (case["n"], "Ns"),
        (1, "number of blocks"),
        (case["block"], "NBs"),
        (0, "PMAP process mapping: along rows"),
        (1, "number of grids"),
        (case["grid_rows"], "Ps"),
        (case["grid_columns"], "Qs"),
        (16.0, "threshold"),
        (1, "number of panel factorizations"),
        (2, "PFACTs: right-looking"),
        (1, "number of recursion ends"),
        (8, "NBMINs"),
        (1, "number of divisions"),
        (2, "NDIVs"),
        (1, "number of recursive factorizations"),
        (2, "RFACTs: right-looking"),
        (1, "number of broadcasts"),
        (broadcast, f"BCASTs: {case['broadcast']}"),
        (1, "number of look-aheads"),
        (case["look_ahead"], "DEPTHs"),
        (swap, f"SWAP: {case['swap']}"),
        (64, "swapping threshold"),
        (0, "L1 transposed"),
        (0, "U transposed"),
        (1, "equilibration"),
        (8, "alignment in doubles"),
    ]
    return "\n".join(["HPL.dat", title, *(f"{value!s:<12} {meaning}" for value, meaning in values)]) + "\n"


def _counted(file: Path, lines: list[str], name: str) -> list[int]:
    """Return the values of a line, whose number is on the line before it."""
    line = _LINES[name]
    (count,) = _numbers(file, lines, line, 1)
    if count < 1:
        raise UsageError(f"{file}: line {line}: {count} values of {name}: must be at least 1")
    return _numbers(file, lines, line + 1, count)


def _numbers(file: Path, lines: list[str], line: int, count: int) -> list[int]:
    words = lines[line - 1].split()[:count] if line <= len(lines) else []
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) < count:
        what = "a number" if count == 1 else f"{count} numbers"
        raise UsageError(f"{file}: line {line}: must begin with {what}, as in HPL 2.3")
    return numbers


def _known(file: Path, name: str, number: int, meanings: dict[int, str]) -> str:
    if number not in meanings:
        allowed = ", ".join(map(str, meanings))
        raise UsageError(
            f"{file}: {name} = {number}: {BENCHMARK} does not have this option; must be one of {allowed}"
        )
    return meanings[number]
