"""HPL.dat is read as HPL reads it, and what has no counterpart is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.errors import UsageError
from hpcscope.plan import experiment, hpl
from tests.messages import mentions

# The example that comes with HPL 2.3, with other numbers.
EXAMPLE = """HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
6            device out (6=stdout,7=stderr,file)
3            # of problems sizes (N)
2000 4000 0  Ns
2            # of NBs
64 128       NBs
0            PMAP process mapping (0=Row-,1=Column-major)
2            # of process grids (P x Q)
1 2          Ps
4 2          Qs
16.0         threshold
3            # of panel fact
0 1 2        PFACTs (0=left, 1=Crout, 2=Right)
2            # of recursive stopping criterium
2 4          NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
3            # of recursive panel fact.
0 1 2        RFACTs (0=left, 1=Crout, 2=Right)
2            # of broadcast
0 1          BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""


def changed(tmp_path: Path, old: str = "", new: str = "") -> Path:
    assert old in EXAMPLE
    file = tmp_path / "HPL.dat"
    file.write_text(EXAMPLE.replace(old, new, 1) if old else EXAMPLE)
    return file


def test_each_grid_is_a_case_with_all_the_rest(tmp_path: Path) -> None:
    asked = experiment.resolve(changed(tmp_path), {"launches": 2})
    assert asked.launches == 2
    assert [case.benchmark for case in asked.case] == ["algorithm.linpack"] * 2
    flat, square = (case.factors for case in asked.case)
    assert (flat["ranks"], flat["grid_rows"], flat["grid_columns"]) == (["4"], ["1"], ["4"])
    assert (square["grid_rows"], square["grid_columns"]) == (["2"], ["2"])
    assert flat["n"] == ["2000", "4000"]
    assert flat["block"] == ["64", "128"]
    assert flat["broadcast"] == ["ring", "ring_modified"]
    assert (flat["swap"], flat["look_ahead"]) == (["long"], ["1"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0 1          BCASTs", "2 1          BCASTs", "BCASTs = 2: algorithm.linpack"),
        ("1            DEPTHs", "3            DEPTHs", "DEPTHs = 3: algorithm.linpack"),
        ("0            PMAP", "1            PMAP", "PMAP = 1: ... 0 ... 2 x 2"),
        ("2000 4000 0  Ns", "2000         Ns", "line 6: ... 3 "),
        ("2000 4000 0  Ns", "0 0 0        Ns", "Ns: ... 0"),
        ("1 2          Ps", "0 2          Ps", "grid of 0 x 4: ... 1 x 1"),
        ("2            # of NBs", "-1           # of NBs", "line 7: -1 ... NBs: ... 1"),
        (EXAMPLE[EXAMPLE.index("1            # of lookahead") :], "", "line 24: "),
    ],
)
def test_what_it_cannot_mean_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        hpl.read(changed(tmp_path, old, new))
    assert mentions(str(refused.value), message)
    assert "HPL.dat" in str(refused.value)


@pytest.mark.parametrize(
    ("broadcast", "swap"), [("ring", "long"), ("ring_modified", "binomial"), ("long", "long")]
)
def test_what_is_written_is_read_back(broadcast: str, swap: str, tmp_path: Path) -> None:
    case = {"n": 1000, "block": 96, "grid_rows": 2, "grid_columns": 3}
    case |= {"broadcast": broadcast, "swap": swap, "look_ahead": 0}
    file = tmp_path / "HPL.dat"
    file.write_text(hpl.written(case, "a title"))
    lists = {name: [case[name]] for name in ("n", "block", "broadcast")} | {"look_ahead": ["0"]}
    assert hpl.read(file) == [{"benchmark": hpl.BENCHMARK, "ranks": 6, **case, **lists}]


def test_a_tree_that_hpl_lacks_becomes_its_modified_ring(tmp_path: Path) -> None:
    case = {"n": 9, "block": 9, "grid_rows": 1, "grid_columns": 4, "swap": "long", "look_ahead": 1}
    file = tmp_path / "HPL.dat"
    file.write_text(hpl.written({**case, "broadcast": "binomial"}, "a title"))
    assert hpl.read(file)[0]["broadcast"] == ["ring_modified"]
    assert len(file.read_text().splitlines()) == len(EXAMPLE.splitlines())
