"""What a plan does where there are too many hosts to measure every pair, and what it tells beforehand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hpcscope.engine.run.sampled_pairs import foretold
from hpcscope.errors import UsageError
from hpcscope.plan import plan as planning
from hpcscope.plan import sweep
from hpcscope.plan.experiment import resolve
from hpcscope.plan.place import Place
from hpcscope.plan.plan import Plan
from tests.declared import catalog


def planned(hosts: int) -> Plan:
    experiment = resolve(None, {"seed": 7, "only": ["mpi.pairs", "mpi.random_pairs"], "module": "standard"})
    return planning.make(experiment, catalog(), Place((16,) * hosts), "the experiment")


@pytest.mark.parametrize(("hosts", "name"), [(64, "mpi.pairs"), (256, "mpi.pairs"), (10_000, "mpi.random_pairs")])
def test_every_pair_is_measured_where_there_are_few_hosts_and_random_ones_where_there_are_many(
    hosts: int, name: str
) -> None:
    plan = planned(hosts)
    assert {case.benchmark for launch in plan.launches for case in launch.cases} == {name}
    assert {launch.ranks for launch in plan.launches} == {hosts}
    rounds = {case.parameters["round"] for launch in plan.launches for case in launch.cases}
    assert len(rounds) == (96 if hosts > 256 else hosts)


def test_what_random_pairs_cost_and_find_is_told_before_they_are_measured(tmp_path: Path) -> None:
    plan = planned(10_000)
    (line,) = foretold(plan, catalog(), None)
    for part in ("10000 ranks", "96 rounds", "1.0 %", "32 hosts", "100 %"):
        assert part in line
    assert re.search(r"\b[\d.]+ min\b", line)
    written = tmp_path / "topology.toml"
    written.write_text(
        'format = 1\norigin = "measured"\n[[group]]\nname = "all"\nlevel = "cluster"\nlatency_s = 1e-6\n'
        'bandwidth_bytes_per_s = 1e9\nhosts = ["a", "b", "c"]\n'
    )
    assert "3 hosts" in foretold(plan, catalog(), written)[0]
    assert foretold(planned(8), catalog(), None) == []


@pytest.mark.parametrize("word", ["9", "2..x", "..-4"])
def test_a_number_of_hosts_is_a_range(word: str) -> None:
    source = sweep.Source("here", person=True)
    benchmark = next(one for one in catalog() if one.name == "mpi.pairs")
    with pytest.raises(UsageError, match=r"hosts = .*: .*2\.\.256, \.\.256 or 257\.\."):
        list(sweep.expand({"hosts": [word]}, benchmark, Place((2,)), "core", source))
