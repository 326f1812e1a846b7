"""Trunks under controlled load: which pairs cross them, what is sent, and what is told of what arrives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from hpcscope.cli import topology
from hpcscope.engine.topology import Loaded
from hpcscope.findings.load import find_all
from hpcscope.topology import loading
from hpcscope.topology.discovery import discover
from hpcscope.topology.prober import Answer
from hpcscope.topology.sharing import Transfer
from hpcscope.topology.topology import Topology
from tests.topology.synthetic import Cluster, Synthetic, fat_tree, grid, netfinity


class Loading(Synthetic):
    """Delivers what is sent, or what the cluster carries: a share of what it carried at the discovery."""

    left = 1.0

    def loaded(
        self, transfers: Sequence[Transfer], rates: Sequence[float], pair: Transfer
    ) -> tuple[Answer, list[float]]:
        assert not {pair.source, pair.target} & {end for each in transfers for end in (each.source, each.target)}
        carried = self.left * self.rates(transfers, rates).rates
        return Answer(np.minimum(carried, np.array(rates))), [self.latency(pair.source, pair.target)] * 5


def topology_of(cluster: Cluster) -> Topology:
    return discover(Synthetic(cluster, np.random.default_rng(2), 0.005), seed=2).topology


def test_every_trunk_and_the_bisection_have_a_cut() -> None:
    found = loading.cuts(topology_of(grid()))
    names = {cut.name for cut in found}
    assert {"giza", "grid", "hpc", loading.BISECTION} <= names
    assert {cut.direction for cut in found if cut.name == "giza"} == {"out", "in"}
    (out,) = [cut for cut in found if (cut.name, cut.direction) == ("giza", "out")]
    assert sum(out.predicted_bytes_per_s) == pytest.approx(6.7 * 0.95 * 125_000, rel=0.05), (
        "its uplink, whatever its hosts can"
    )
    assert all(each.source.startswith("giza") for each in [*out.transfers, out.pair])
    assert not any(each.target.startswith("giza") for each in [*out.transfers, out.pair])
    assert {cut.name for cut in loading.cuts(topology_of(netfinity()))} == {loading.BISECTION}


@pytest.mark.parametrize("seed", range(7))
def test_trunks_that_hold_what_they_promise_are_not_accused(seed: int) -> None:
    cluster = fat_tree()
    prober = Loading(cluster, np.random.default_rng(seed), 0.03)
    told: list[str] = []
    loaded = loading.load(prober, topology_of(cluster), told.append)
    assert find_all(loaded) == []
    assert len(told) == len(loaded)
    for one in loaded:
        assert len({len(level.delivered_bytes_per_s) for level in one.levels}) == 1
        half = next(level for level in one.levels if level.share == 0.5)
        assert np.median(half.delivered_bytes_per_s) == pytest.approx(one.predicted / 2, rel=0.02), (
            "no more than asked"
        )


def test_a_trunk_that_has_lost_half_of_its_rate_is_named() -> None:
    cluster = Cluster().group("a", 4, 100, "s").group("b", 4, 100, "t").trunk("s", "t", 100)
    prober = Loading(cluster, np.random.default_rng(1), 0.03)
    prober.left = 0.5
    (finding,) = find_all(loading.load(prober, topology_of(cluster), lambda _: None))
    assert finding.code == "trunk-below-topology"
    delivered, predicted = (each.value for each in finding.evidence[:2])
    assert delivered / predicted == pytest.approx(0.5, abs=0.05)
    assert finding.lost == pytest.approx(0.5, abs=0.05)


def test_starved_measurements_accuse_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    cut = loading.Cut("a", "out", [Transfer("a1", "b1")], Transfer("a2", "b2"), [1e7])
    level = loading.Level(1.0, [1e6] * 7, [1e-5] * 7)
    assert find_all([loading.LoadedCut(cut, [level])])
    level.starved = 7
    starved = loading.LoadedCut(cut, [level])
    assert find_all([starved]) == []
    topology._print_loads(Loaded([starved], []))
    said = capsys.readouterr().out
    assert "a (out)" in said.splitlines()[-1]
    assert "85 %" not in said
    level.starved, level.delivered_bytes_per_s = 0, [9e6] * 7
    topology._print_loads(Loaded([starved], find_all([starved])))
    said = capsys.readouterr().out
    assert "85 %" in said.splitlines()[-1], "what no trunk falls below"
