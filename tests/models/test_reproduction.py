"""Published figures: transcribed as printed, and held against the same figures of a run of known truth."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hpcscope.errors import UsageError
from hpcscope.models.published import reference
from hpcscope.models.published.overview import ComparedValue, Overview, RepeatedExperiment
from hpcscope.models.published.reference import PrintedItem, load, names
from hpcscope.plan.placement import Placement
from hpcscope.report import reproduction
from hpcscope.statistics.summary import Summary
from tests.messages import numbers
from tests.models.curves import noisy, summary
from tests.models.known_costs import LAUNCHES, cannon, phases, ping_pong, striped
from tests.models.published import reproduced

SOURCES = {
    "scope": "Melas 2000",
    "grid": "Storchi et al. 2003",
    "netfinity": "Tessera, Benchmarking of a commercial Linux cluster",
    "gamma": "A Beowulf with GAMMA",
    "param": "Rao et al.",
    "io500": "IO500",
    "gpcnet": "HPE, Slingshot",
}
SIZES = (240, 360, 480, 600)
"""The counterparts of 840, 1080, 1320 and 1680."""


def test_there_are_the_experiments() -> None:
    assert names() == [
        "gamma-figure2",
        "gamma-figure3",
        "gamma-table1",
        "gpcnet",
        "grid-figure2",
        "grid-pdgemm",
        "grid-table2",
        "io500",
        "netfinity-lu",
        "netfinity-messages",
        "netfinity-messages-ethernet",
        "netfinity-nas",
        "netfinity-placement",
        "netfinity-pstswm",
        "param-cfd",
        "param-collectives",
        "param-figure12",
        "param-linpack",
        "param-messages",
        "param-nas",
        "param-node",
        "param-scalapack",
        "scope-algorithms",
        "scope-appendix-e",
        "scope-appendix-g",
        "scope-collectives",
        "scope-operations",
        "scope-ping-pong",
        "scope-psrs",
        "scope-relaxation",
        "scope-send-modes",
        "scope-shared-bus",
        "scope-strassen",
        "scope-striped-vs-cannon",
        "scope-switched",
    ]
    for name in names():
        reference = load(name)
        assert reference.source.startswith(SOURCES[name.partition("-")[0]])
        assert reference.statement


def test_every_printed_table_and_figure_is_listed_with_its_statements() -> None:
    items = reference.printed()
    assert len({(item.source, item.name) for item in items}) == len(items) == 112
    known = {(name, one.where) for name in reference.names() for one in reference.load(name).statement}
    linked = {place for item in items for place in item.statements}
    assert linked <= known
    of_tables = {place for place in known if re.search("figure|table", place[1])}
    assert of_tables <= linked, "a statement about a table or figure belongs to it"
    assert [item for item in items if bool(item.statements) == bool(item.reason)] == []


def test_a_printed_table_counts_the_values_and_relations_of_its_statements() -> None:
    item = PrintedItem(source="Melas", name="table 1", statements=[("one", "table 1")], reason="")
    value: dict[str, object] = {
        "row": "a",
        "published": 1.0,
        "predicted": 2.0,
        "unit": "s",
        "limit": None,
        "size": 0,
        "ranks": 2,
    }
    value |= {"remark": "", "where": "table 1", "relation": "above 1"}
    rows = [
        ComparedValue.model_validate(value | {"measured": 3.0, "origin": "emulated", "holds": "yes"}),
        ComparedValue.model_validate(value | {"measured": 3.0, "origin": "simulated", "holds": "no"}),
        ComparedValue.model_validate(value | {"measured": None, "origin": "published"}),
        ComparedValue.model_validate(
            value | {"where": "table 2", "measured": 3.0, "origin": "measured", "holds": "yes"}
        ),
    ]
    outcomes = [
        RepeatedExperiment(name=name, title=name, source="Melas", rows=rows) for name in ("one", "another")
    ]
    cells = reproduction.printed_cells(item, Overview(quick=False, full=False, outcomes=outcomes))
    assert cells == ["Melas, table 1", "1 of 3 hold; 1 not judged", *map(str, (3, 3, 1, 1)), "one"]


def test_an_unknown_experiment_names_those_there_are() -> None:
    with pytest.raises(
        UsageError,
        match=r"scope-appendix-h: .*: gamma-figure2, gamma-figure3, gamma-table1, gpcnet,",
    ):
        load("scope-appendix-h")


def test_table_g1_agrees_with_itself() -> None:
    printed = {one.title: one.published for one in load("scope-appendix-g").statement}
    improvements = [title for title in printed if ", improvement by transposition, " in title]
    assert len(improvements) == 19 * 2
    for title in improvements:
        name, _, point = title.partition(", improvement by transposition, ")
        plain, transposed = printed[f"{name}, {point}"], printed[f"{name}, B transposed, {point}"]
        assert plain is not None
        assert transposed is not None
        misprint = title == "Cannon, improvement by transposition, N = 840, 9 processes"
        assert (plain / transposed == pytest.approx(printed[title], abs=0.015)) != misprint, title


def run(counts: tuple[int, ...] = (2, 4)) -> list[Summary]:
    """Both products; transposed computes twice as fast."""
    random = np.random.default_rng(2)
    made = ping_pong(random)
    for variant, faster in (("plain", 1.0), ("transposed", 2.0)):
        for size in (80, 120, 160, *SIZES):
            for sides in ((1, 1), (1, 2), (2, 2)):
                p = sides[0] * sides[1]
                if p not in (1, *counts):
                    continue
                times = {"algorithm.matmul_striped": striped(size, *sides)}
                if sides[0] == sides[1]:
                    times["algorithm.matmul_cannon"] = cannon(size, sides[0])
                for name, seconds in times.items():
                    changed = seconds | {"compute": seconds["compute"] / faster}
                    made += phases(random, name, p, 0.002, changed, n=size, variant=variant)
    return made


def test_the_improvement_stands_beside_the_published_one() -> None:
    found = reproduced("scope-appendix-g", {"simulated": run()}, LAUNCHES)
    row = found["Cannon, improvement by transposition, N = 1680, 4 processes"]
    slow, fast = cannon(600, 2), cannon(600, 2)
    fast["compute"] /= 2
    truth = sum(slow.values()) / sum(fast.values())
    assert row.published == 2.05
    assert row.measured == pytest.approx(truth, rel=0.02)
    assert row.predicted == pytest.approx(truth, rel=0.03)
    assert (row.origin, row.unit, row.limit, row.size) == ("measured", "1", None, 600)
    assert numbers(row.remark) == [600]


def test_what_this_machine_has_no_room_for_is_predicted_and_said_to_be() -> None:
    row = reproduced("scope-appendix-g", {"simulated": run()}, LAUNCHES)[
        "Cannon, B transposed, N = 1680, 16 processes"
    ]
    assert row.measured is None
    truth = cannon(600, 4)
    truth["compute"] /= 2
    assert row.predicted == pytest.approx(sum(truth.values()), rel=0.03)
    assert row.origin == "simulated"
    assert row.remark


def test_nothing_is_predicted_without_a_ping_pong() -> None:
    without = [s for s in run() if s.benchmark != "mpi.latency"]
    found = reproduced("scope-appendix-g", {"simulated": without}, LAUNCHES)
    row = found["Cannon, N = 1680, 16 processes"]
    assert (row.predicted, row.measured, row.origin) == (None, None, "published")


def test_critical_counts_and_speedups() -> None:
    found = reproduced("scope-striped-vs-cannon", {"simulated": run()}, LAUNCHES)
    critical = found["Cannon, critical count"]
    assert critical.published == 16
    assert critical.measured is None, "two counts have no law"
    assert critical.predicted is not None
    assert 4 <= critical.predicted <= 64
    row = found["striped, speedup, N = 840, 4 processes"]
    assert row.published == pytest.approx(344 / 64.1)
    assert row.measured == pytest.approx(
        sum(striped(240, 1, 1).values()) / sum(striped(240, 2, 2).values()), rel=0.02
    )
    assert row.limit == 4
    own = found["striped, speedup, N = 1680, on the most processes here"]
    assert own.published is None
    assert own.measured == pytest.approx(own.predicted, rel=0.03)
    assert (own.ranks, numbers(own.remark)) == (4, [600, 4])


def test_rates_of_messages_over_their_length() -> None:
    random = np.random.default_rng(5)
    made = [
        summary(
            noisy(random, start_s + size / rate, spread=1e-4),
            "network.latency",
            "latency_s",
            "half_round_trip",
            message_bytes=size,
            protocol=protocol,
        )
        for protocol, start_s, rate in (("active_messages", 3e-6, 120e6), ("tcp", 9e-6, 118e6))
        for size in (1, 1024, 1 << 16, 1 << 20, 4 << 20)
    ]
    found = reproduced("gamma-figure2", made + rates(made))
    assert found["rate of one byte, GAMMA"].published == 0.6e6
    assert found["rate of one byte, GAMMA"].measured == pytest.approx(8 / 3e-6, rel=0.03)
    shape = [row for row in found.values() if row.where == "figure 2" and row.row.startswith("GAMMA: ")]
    assert [row.holds for row in shape] == ["yes"] * 3
    assert found["latency, GAMMA"].published == 15e-6
    assert found["latency, GAMMA"].measured == pytest.approx(3e-6, rel=0.03)
    assert found["latency, TCP/IP"].measured == pytest.approx(9e-6, rel=0.03)
    largest = found["asymptotic rate, GAMMA"]
    assert (largest.published, largest.size) == (706e6, 4 << 20)
    assert largest.measured == pytest.approx(960e6, rel=0.03)
    assert found["asymptotic rate over that of the link, GAMMA"].measured == pytest.approx(0.96, rel=0.03)
    lower = found["asymptotic rate, GAMMA / asymptotic rate, TCP/IP"]
    assert (lower.holds, lower.says) == ("yes", "only drawn: the curve of TCP/IP is lower")
    assert {row.origin for row in reproduced("gamma-figure2", []).values()} == {"published"}


def rates(times: list[Summary]) -> list[Summary]:
    """The rates of messages that took these times."""
    random = np.random.default_rng(7)
    return [
        summary(
            noisy(random, one.parameters["message_bytes"] / one.median, spread=1e-4),
            "network.latency",
            "bandwidth_bytes_per_s",
            "half_round_trip",
            unit="B/s",
            **one.parameters,
        )
        for one in times
    ]


def test_times_of_messages_one_way_and_both() -> None:
    random = np.random.default_rng(6)
    made = [
        summary(
            noisy(random, share * 8 * size / 1e9),
            benchmark,
            "time_s",
            "half_round_trip" if benchmark == "mpi.comms1" else "local",
            placement=Placement(place),
            message_bytes=size,
        )
        for benchmark, share in (("mpi.comms1", 1.0), ("mpi.comms2", 1.5))
        for place in ("core", "node")
        for size in (10000, 1000000, 10000000)
    ]
    found = reproduced("netfinity-messages", made)
    assert found["remote processes, 1 MB"].measured == pytest.approx(8e-3, rel=0.03)
    assert found["MPI_Sendrecv, 10 MB"].measured == pytest.approx(0.12, rel=0.03)
    both = found["MPI_Sendrecv / MPI_Send and MPI_Recv, 10 MB"]
    assert (both.measured, both.unit, both.published) == (pytest.approx(1.5, rel=0.03), "1", 2.286)
