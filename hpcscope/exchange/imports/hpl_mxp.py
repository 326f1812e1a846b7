"""HPL-MxP of NVIDIA's HPC benchmarks: the results that it prints.

`N = 401408, NB = 3072, NPROW = 2, NPCOL = 4, SLOPPY-TYPE = FP16`, then the rate of factorization plus iterative
solution, and of the factorization alone. GFLOPS are 10^9 operations per second, 2/3 n^3 + 3/2 n^2 as in HPL. The
residual belongs to the refined solution.
"""

import re
from collections.abc import Sequence

from hpcscope.exchange.imports import FLOPS, Given, metric, once, parameter, setting
from hpcscope.exchange.imports.lines import TextLine
from hpcscope.exchange.imports.reader import LineReader

_NAME = "algorithm.hpl_mxp"
_RATE = r"\s*(\d+(?:\.\d+)?(?:e[+-]\d\d)?), per GPU\s*="
_ROWS = {
    re.compile(rf"\s*GFLOPS\s*={_RATE}"): FLOPS,
    re.compile(rf"\s*LU GFLOPS\s*={_RATE}"): metric("factorization_flops_per_s", "flop/s", "rate of LU", "higher"),
}
_PROBLEM = re.compile(r"\s*N = (\d+), NB = (\d+), NPROW = (\d+), NPCOL = (\d+), SLOPPY-TYPE = (\w+)\s*$")
_RESIDUAL = re.compile(r"\s*\|\|Ax-b\|\|_oo / \(EPS .*\) =\s*(\S+) \.+ (PASSED|FAILED)\s*$")
_SAID = re.compile(
    r"\s*(?:\*{6} HPL MxP Result|\*{6} test |EPS |Threshold |\|\|(?:Ax-b|A|x|b)\s*\|\|_oo|Prog=|LU seconds:)"
    r"|Solver iteration |!!!! WARNING: Rank:"
)


class _Reader(LineReader):
    TITLE = "HPL-MxP"
    BEGINS = (_RESIDUAL, _PROBLEM)
    CLAIMS = (_PROBLEM,)

    _failure = "no check of the residual was printed"
    _problem: Sequence[str] = ()

    def _takes(self, line: TextLine) -> bool:
        if residual := _RESIDUAL.match(line.text):
            self._failure = "" if residual[2] == "PASSED" else f"residual {residual[1]}: FAILED"
        elif problem := _PROBLEM.match(line.text):
            self._problem = problem.groups()
        elif found := next((of for row, of in _ROWS.items() if self._problem and row.match(line.text)), None):
            once(self.facts, found.label, line.number)
            n, block, rows, columns = map(int, self._problem[:4])
            numbers = {"n": n, "block": block, "grid_rows": rows, "grid_columns": columns}
            given = [Given(parameter(name, name.replace("_", " "), [0]), value) for name, value in numbers.items()]
            given.append(setting("precision", self._problem[4], bare=True))
            case = self.foreign(_NAME, "LU in low precision, refined", [found], given, rows * columns)
            rate = float(re.split("[=,]", line.text)[1]) * 1e9
            self.add(case, rate, line.number, failure=self._failure)
        else:
            return _SAID.match(line.text) is not None
        return True
