"""Packed against spread: the slow-down that was put in, divided into what it was made of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from hpcscope.errors import UsageError
from hpcscope.findings.campaign import CampaignFacts, find_all
from hpcscope.findings.finding import Finding
from hpcscope.programs.campaign.analysis import analyse
from hpcscope.programs.campaign.folder import Head, head_of
from hpcscope.programs.campaign.placement import LayoutComparison, Pairing, compare, pairings
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.campaign.study import Value, made
from tests.campaign.records import study
from tests.findings.evidence import evident

PAIRS, _ = pairings([2] * 8, 1, 8)
POINTS: list[dict[str, Value]] = [
    {"placement": layout.placement, "ranks": layout.ranks}
    for layout in (PAIRS[0].packed, PAIRS[0].spread, PAIRS[1].spread)
]


def runs(compute: float = 1.0, mpi: float = 1.0, off_s: float = 0.0, repetitions: int = 8) -> list[RunRecord]:
    """Packed runs whose computation and communication take so many times as long as spread ones."""

    def figures(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
        packed = point["placement"] == "packed"
        share = 8 / int(point["ranks"])
        own = 1.0 * share * (compute if packed else 1) * float(np.exp(random.normal(0, 0.01)))
        told = 0.25 * (mpi if packed else 1) * float(np.exp(random.normal(0, 0.02)))
        return {
            "wall_s": own + told,
            "compute_s": own,
            "mpi_s": told,
            "cpu_s": own + told - (off_s if packed else 0),
            "system_s": 0.01,
        }

    return study(POINTS, figures, repetitions)


def found(records: list[RunRecord], pairing: Pairing = PAIRS[0]) -> LayoutComparison:
    made = compare(records, pairing)
    assert isinstance(made, LayoutComparison), made
    return made


def findings(records: list[RunRecord], lab: str = "") -> list[Finding]:
    plain = head_of("placement", made({"program": "./app"}, "here"), ["scope"])
    head: Head = plain.model_copy(update={"pairings": PAIRS, "lab": lab})
    return find_all(CampaignFacts(head, analyse(head, records)))


def test_contention_for_memory_is_computation() -> None:
    each = found(runs(compute=1.44))
    assert each.certain
    assert each.mostly == "computation"
    assert each.slowdown.value == pytest.approx(0.44 / 1.25, abs=0.02)
    assert each.by_computation.value == pytest.approx(0.44 / 1.25, abs=0.02)
    assert each.by_communication.value == pytest.approx(0, abs=0.01)
    assert each.by_computation.value + each.by_communication.value == pytest.approx(each.slowdown.value)
    assert each.inflation.value == pytest.approx(0.44, abs=0.02)
    assert each.off_processor.value == pytest.approx(0, abs=0.01)
    (finding,) = findings(runs(compute=1.44))
    assert (finding.code, finding.severity) == ("packed-placement", "advice")
    assert finding.where == {"layer": "node", "ranks": 8}
    evident(finding, (each.slowdown.value, ""), (each.packed.wall_s.value, "s"), (each.spread.wall_s.value, "s"))


def test_a_slow_network_inside_a_node_is_communication() -> None:
    each = found(runs(mpi=3.0))
    assert each.mostly == "communication"
    assert each.by_communication.value == pytest.approx(0.5 / 1.25, abs=0.03)
    (finding,) = findings(runs(mpi=3.0))
    assert finding.where == {"layer": "network", "ranks": 8}


def test_waiting_for_a_processor_is_no_contention_for_memory_and_a_lab_shows_neither() -> None:
    (finding,) = findings(runs(compute=1.44, off_s=0.44))
    evident(finding, (0.44 / 1.25, ""), rel=0.05)
    (contended,) = findings(runs(compute=1.44))
    (emulated,) = findings(runs(compute=1.44), lab="netfinity")
    assert len({one.advice for one in (finding, contended, emulated)}) == 3
    assert "node.stream" in contended.advice
    assert "binding" in finding.advice
    assert "namespaces" in emulated.advice


def test_equal_layouts_raise_no_alarm_and_few_runs_give_no_interval() -> None:
    assert findings(runs()) == []
    few = found(runs(compute=1.44, repetitions=3))
    assert few.slowdown.low is None
    assert not few.certain
    assert findings(runs(compute=1.44, repetitions=3)) == []
    assert isinstance(compare([], PAIRS[0]), str), "why there is nothing to compare"


def test_more_processes_on_the_same_nodes() -> None:
    fixed, nodes = PAIRS
    assert (fixed.packed.words, fixed.spread.words) == ("8 ranks on 4 nodes", "8 ranks on 8 nodes")
    assert (nodes.packed.words, nodes.spread.words) == ("8 ranks on 4 nodes", "4 ranks on 4 nodes")
    each = found(runs(compute=1.2), nodes)
    # 4 ranks compute 2 s each, 8 ranks 1.2 s each.
    assert each.slowdown.value == pytest.approx((1.2 - 2.0) / 2.25, abs=0.02)
    assert each.inflation.value == pytest.approx(0.2, abs=0.02)


def test_what_one_host_can_compare() -> None:
    (full,), (note,) = pairings([4], 1, None)
    assert (full.fixed, full.packed.ranks, full.spread.ranks) == ("nodes", 4, 1)
    assert "one socket" in note
    sockets, notes = pairings([8], 2, 4)
    assert [pair.packed.unit for pair in sockets] == ["socket", "socket"]
    assert (sockets[0].packed.nodes, sockets[0].spread.nodes, notes) == (1, 2, [])


@pytest.mark.parametrize(
    ("slots", "ranks", "words"),
    [
        ([1], None, "one host with one slot"),
        ([1, 1], 2, "one slot"),
        ([2, 2], 4, "from 2 to 3"),
        ([2], 3, "2 to 2"),
    ],
)
def test_what_cannot_be_compared_is_refused(slots: list[int], ranks: int | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        pairings(slots, 1, ranks)
