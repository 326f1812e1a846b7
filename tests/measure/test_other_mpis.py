"""A few benchmarks of each kind under every MPI beside the embedded one, in a program of these alone.

What another MPI adds is calls. The whole program, which takes a minute to compile, is right under every MPI by the
tests that only `make test-all` has.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.build import registry
from hpcscope.machine.machine import NativeBuild
from tests.installed_mpi import NAMES
from tests.measure.conftest import Measure
from tests.measure.test_control_variables import check_setting

COLLECTIVES = ("broadcast", "gatherv", "alltoall", "reduce", "allreduce", "scan", "reduce_scatter")
PAIR = [
    *(f"mpi.latency mode={mode} message_bytes=70000" for mode in ("standard", "buffered", "synchronous", "ready")),
    *(f"mpi.one_sided operation={one} epoch=lock message_bytes=1000" for one in ("put", "get", "accumulate")),
    *("mpi.one_sided operation=put epoch=fence", "mpi.one_sided operation=get epoch=pscw"),
    "storage.write file_bytes=200000 transfer_bytes=16384",
    "storage.write file_bytes=200000 transfer_bytes=16384 interface=mpiio access=collective pointer=individual",
    "storage.read file_bytes=200000 transfer_bytes=16384 interface=mpiio cache=cached",
]
"""Cases for two ranks."""
MANY = [
    "mpi.barrier",
    *(
        f"mpi.{name} message_bytes=1000 call={call}"
        for name in COLLECTIVES
        for call in ("blocking", "nonblocking")
    ),
    *("operation.broadcast n=300", "algorithm.sort_psrs n=5000", "algorithm.sort_psrs n=5000 variant=tuned"),
]
"""Cases for any number of ranks."""

OLDER = pytest.mark.slow(
    "a build more for each; there, MPICH 5 stands for the others, and MPICH 4.0 runs collectives"
)
OTHERS = pytest.mark.parametrize(
    "mpi", [NAMES[1], *(pytest.param(name, marks=OLDER) for name in NAMES[2:])], indirect=True
)


@OTHERS
@pytest.mark.parametrize(("ranks", "plan"), [(2, [*PAIR, *MANY]), (3, MANY)], ids=["2", "3"])
def test_a_few_benchmarks_of_each_kind_are_right(
    ranks: int,
    plan: list[str],
    few: NativeBuild,
    measure: Measure,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SCOPE_STORAGE", str(tmp_path))
    asked = {line.split()[0] for line in plan}
    assert asked <= set(registry.load(few.program).names)
    ended = measure(ranks, plan, native=few)
    assert ended.code == 0, ended.errors
    assert [case.benchmark for case in ended.cases] == [line.split()[0] for line in plan]
    for case in ended.cases:
        assert case.status == "ok", f"{case.benchmark} {case.parameters}: {case.reason}"
        assert case.verification is not None
        assert case.verification.checks > 0
    assert len(ended.launch.processes) == ranks


@OTHERS
def test_a_setting_is_read_as_it_was_told(few: NativeBuild, measure: Measure) -> None:
    check_setting(few, measure)


@OTHERS
@pytest.mark.parametrize("fault", ["corrupt-payload", "wrong-result"])
def test_wrong_data_are_noticed(fault: str, few: NativeBuild, measure: Measure) -> None:
    name = "mpi.allreduce"
    ended = measure(2, [f"{name} message_bytes=1000", "mpi.barrier"], native=few, SCOPE_FAULT=f"{fault}:{name}")
    assert ended.code != 0
    assert [case.status for case in ended.cases] == ["failed", "ok"]
