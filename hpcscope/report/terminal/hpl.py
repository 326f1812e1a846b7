"""Results of `algorithm.linpack` in the output format of HPL, for programs that read it."""

import math
from collections import defaultdict
from collections.abc import Iterator

from hpcscope.catalog.ranks import grid_extents
from hpcscope.plan.case import Key
from hpcscope.statistics.summary import Summary

BENCHMARK = "algorithm.linpack"
BROADCASTS = {"ring": "0", "ring_modified": "1", "long": "4", "binomial": "B"}
"""HPL's code for each broadcast; HPL does not have a binomial tree."""
THRESHOLD = 16.0
RULE = "-" * 80


def lines(summaries: list[Summary]) -> Iterator[str]:
    """Yield HPL's table: for each case a line with the median time and one with the largest residual.

    The first column encodes, as in HPL 2.3: wall time, row-major grid, look-ahead depth, broadcast, and recursive
    right-looking panel factorization in halves down to 8 columns.
    """
    cases: dict[tuple[Key, str], dict[str, Summary]] = defaultdict(dict)
    for summary in summaries:
        if summary.benchmark == BENCHMARK and summary.primary and summary.median is not None:
            cases[summary.key, summary.origin][summary.metric] = summary
    yield f"{'T/V':<8}{'N':>12} {'NB':>5} {'P':>5} {'Q':>5} {'Time':>18}     {'Gflops':>18}"
    yield RULE
    whole = [case for case in cases.values() if "time_s" in case and "residual" in case]
    for case in sorted(whole, key=lambda case: _order(case["time_s"])):
        yield from _case(case["time_s"], case["residual"])


def _case(time: Summary, residual: Summary) -> Iterator[str]:
    given = time.parameters
    n, (rows, columns) = int(given["n"]), grid_extents(given, time.ranks)
    kind = f"WR{given['look_ahead']}{BROADCASTS[str(given['broadcast'])]}R2R8"
    seconds = time.median or math.nan
    rate = (2 / 3 * n + 3 / 2) * n * n / seconds / 1e9
    yield f"{kind:<8}{n:>12} {given['block']:>5} {rows:>5} {columns:>5} {seconds:>18.2f}     {rate:>18.4e}"
    largest = residual.maximum if residual.maximum is not None else math.nan
    verdict = "PASSED" if time.valid and largest < THRESHOLD else "FAILED"
    yield f"||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= {largest:>16.8e} ...... {verdict}"


def _order(time: Summary) -> tuple[int | str, ...]:
    given = time.parameters
    rows, _ = grid_extents(given, time.ranks)
    return (time.ranks, rows, int(given["n"]), int(given["block"]), time.label)
