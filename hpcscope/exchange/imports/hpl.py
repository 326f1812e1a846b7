"""HPL: the results that versions 1.0 to 2.3 print, and programs that print in the same format.

A line `WR11C2R4  N NB P Q time Gflops` for each problem, then its residual with PASSED or FAILED (HPL_pdtest.c).
Gflops are 10^9 operations per second: (2/3 n^3 + 3/2 n^2) / time of one solution. The letters of a variant are the
numbering of processes (none in 1.0: by columns), look-ahead, broadcast, and the panel factorization, for which
Scope has one choice. Results that `algorithm.linpack` cannot reproduce become `algorithm.hpl`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from hpcscope.catalog.benchmark import Benchmark, Value
from hpcscope.errors import UsageError
from hpcscope.exchange.imports import FLOPS, TIME, PrintedFigure, Reading, declared, metric, parameter
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader
from hpcscope.plan import hpl

BENCHMARK = hpl.BENCHMARK
OTHER = "algorithm.hpl"
BROADCASTS = ("ring", "ring_modified", "two_rings", "two_rings_modified", "long", "long_modified")
"""Broadcasts in the order of HPL's numbers."""
SHORTEST_S = 1.0
"""Shorter times are printed with too few digits; the rate is more precise."""
ORDERS = {"R": "rows", "C": "columns", "": "columns"}

_INPUT = "HPLinpack benchmark input file"
_TITLE = re.compile(r"HPLinpack (\S+)\s+--")
_RESULT = r"\s+(\d+[.,]\d\d)\s+(\d+[.,]\d+e[+-]\d\d)(?:\s+\(.*\))?\s*$"
_ROW = re.compile(r"(W\w+)" + r"\s+(\d+)" * 4 + _RESULT)
_VARIANT = re.compile(r"W([RC]?)(\d+)([0-5])[LCR]\d+[LCR]\d+$")
_SWAP = re.compile(r"SWAP\s+: (Mix|Binary-exchange|Spread-roll)")
_SWAPS = {"Mix": "long", "Binary-exchange": "binomial", "Spread-roll": "long"}
_RESIDUAL = re.compile(r"\|\|Ax-b\|\|_oo\s*/\s*\(.*\)\s*=\s*(\d+[.,]\d+(?:e[+-]\d\d)?)\s\.+ (PASSED|FAILED)\s*$")
_NORMWISE = re.compile(r"\|\|Ax-b\|\|_oo/\(eps\*\(\|\|A\|\|_oo\*\|\|x\|\|_oo\+\|\|b\|\|_oo\)\*N\)")
_SAID = re.compile(
    r"Written by A\. Petitet|Modified by |An explanation of the input|T/V\s|(?:N|NB|P|Q|Time|Gflops)\s*: "
    r"|The following parameter values|(?:PMAP|[PR]FACT|NBMIN|NDIV|BCAST|DEPTH|L1|U|EQUIL|ALIGN)\s*: "
    r"|\s{9}(?:\s+\w+)+\s*$|- The matrix A is|- The following scaled|\s+(?:\d\) )?\|\|Ax-b\|\|_oo / \("
    r"|- The relative machine"
    r"|- Computational tests pass|HPL_pdgesv\(\) (?:start|end)|\|\|(?:Ax-b|A|x|b)\|\|_(?:oo|1)[ .]+="
    r"|Finished\s+\d+ tests|\s+\d+ tests (?:completed|skipped)|End of Tests|Column=\d+ Fraction="
)
_BEGIN = re.compile(r"This is the DARPA/DOE HPC Challenge|Begin of HPL section\.")
_END = re.compile(r"End of HPL section\.")
_SUMMARY = re.compile(r"Begin of Summary section\.")


@dataclass
class _Problem:
    """A result and its printed residuals."""

    figures: list[PrintedFigure]
    failure: str = "no check of the residual was printed"


@dataclass
class _Reader(LineReader):
    """Reads the output of a run, including sections of HPCC."""

    TITLE = "HPL"
    BEGINS = (_TITLE,)
    ENDS = re.compile(r"End of Tests")

    benchmarks: list[Benchmark] = field(default_factory=lambda: [benchmark()])
    _problems: list[_Problem] = field(default_factory=list)
    _swap: str = ""

    @classmethod
    def claims(cls, lines: Sequence[TextLine]) -> bool:
        """Return whether the lines contain a title or a result; UsageError if they are an input file of HPL."""
        if lines and lines[0].text.startswith(_INPUT):
            raise UsageError("is an input of HPL, and has no results; `scope run FILE` measures its cases")
        return any(_TITLE.match(line.text) or _ROW.match(line.text) for line in _own(lines))

    @classmethod
    def read(cls, lines: Sequence[TextLine]) -> Reading:
        """Return the values of all problems except HPCC's."""
        return super().read([*_own(lines)])

    def _takes(self, line: TextLine) -> bool:
        if title := _TITLE.match(line.text):
            self.versions.append(title[1])
            self._swap = ""
        elif found := _SWAP.match(line.text):
            self._swap = _SWAPS[found[1]]
        elif row := _ROW.match(line.text):
            self._problems.append(_Problem(list(_figures(row, self._swap, line.number))))
            if number(row[6]) < SHORTEST_S:
                self.missing.append("enough digits of times below 1 s")
            if not _VARIANT.match(row[1]):
                self.missing.append(f"what {row[1]} stands for")
        elif self._problems and (residual := _RESIDUAL.match(line.text)):
            _check(self._problems[-1], residual, line)
        else:
            return _SAID.match(line.text) is not None
        return True

    def close(self) -> None:
        """Add the values with the outcomes of their checks."""
        self.figures = [
            replace(printed, failure=problem.failure) for problem in self._problems for printed in problem.figures
        ]


def solved(lines: Sequence[TextLine]) -> list[PrintedFigure]:
    """Return the values of all problems, including HPCC's."""
    return _Reader().reading(lines).figures


def said(text: str) -> bool:
    """Return whether a line is from the program."""
    return any(pattern.match(text) for pattern in (_TITLE, _SWAP, _ROW, _RESIDUAL, _SAID))


def case(n: int, block: int, grid: tuple[int, int], variant: tuple[str, int, int], swap: str) -> PrintedFigure:
    """Return a problem's record without a value; `variant`: numbering of processes, look-ahead, broadcast."""
    order, depth, broadcast = variant
    rows, columns = grid
    plain = (order == "rows" or min(grid) == 1) and depth in (0, 1) and broadcast in hpl.BROADCASTS
    problem: dict[str, Value] = {"n": n, "block": block, "grid_rows": rows, "grid_columns": columns}
    way: dict[str, Value]
    if plain:
        way = {"look_ahead": depth, "broadcast": hpl.BROADCASTS[broadcast]}
        way |= {"swap": swap} if swap else {}
    else:
        way = {"look_ahead": depth, "broadcast": BROADCASTS[broadcast], "order": order}
    return PrintedFigure(BENCHMARK if plain else OTHER, {**problem, **way}, rows * columns, "")


def benchmark() -> Benchmark:
    """Return the declaration for results that `algorithm.linpack` cannot reproduce."""
    numbers = ("n", "equations"), ("block", "block"), ("grid_rows", "grid rows"), ("grid_columns", "grid columns")
    return declared(
        OTHER,
        "HPL",
        "LINPACK, in variants of HPL that Scope does not have",
        [FLOPS, TIME, metric("residual", "1", "residual")],
        [
            *(parameter(name, label, [0], role="size" if name == "n" else "problem") for name, label in numbers),
            parameter("look_ahead", "look-ahead", [0], role="method"),
            parameter("broadcast", "broadcast", BROADCASTS, role="method"),
            parameter("order", "processes along", ["rows", "columns"], role="method"),
        ],
    )


def _own(lines: Sequence[TextLine]) -> Iterator[TextLine]:
    """Yield the lines outside HPCC's output up to its HPL section, whose results the summary has with more digits.

    The lines may begin inside that output; everything up to the end of the section then belongs to it.
    """
    summarised = any(_SUMMARY.match(line.text) for line in lines)
    edge = next((pattern for line in lines for pattern in (_BEGIN, _END) if pattern.match(line.text)), _BEGIN)
    inside = summarised and edge is _END
    for line in lines:
        inside = summarised and (inside or _BEGIN.match(line.text) is not None) and not _END.match(line.text)
        if not inside:
            yield line


def _figures(row: re.Match[str], swap: str, line: int) -> Iterator[PrintedFigure]:
    variant = _VARIANT.match(row[1])
    order, depth, broadcast = variant.groups() if variant else ("R", "1", "1")
    n, block, rows, columns = (int(row[place]) for place in (2, 3, 4, 5))
    figure = case(n, block, (rows, columns), (ORDERS[order], int(depth), int(broadcast)), swap)
    yield replace(figure, metric="flops_per_s", values=(number(row[7], 9),), line=line)
    if number(row[6]) >= SHORTEST_S:
        yield replace(figure, metric="time_s", values=(number(row[6]),), line=line)


def _check(problem: _Problem, residual: re.Match[str], line: TextLine) -> None:
    """Store the outcome of a check; all three checks of version 1.0 must pass."""
    if residual[2] == "FAILED":
        problem.failure = f"residual {residual[1]}: FAILED"
    elif not problem.failure.startswith("residual"):
        problem.failure = ""
    if _NORMWISE.match(line.text):
        value = number(residual[1])
        problem.figures.append(replace(problem.figures[0], metric="residual", values=(value,), line=line.number))
