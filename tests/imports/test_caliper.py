"""Caliper's split JSON: values of regions, and what `scope export thicket` wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpcscope.engine.export import exported
from hpcscope.engine.imports import imported
from hpcscope.exchange.imports import Reading
from hpcscope.statistics.summarise import read_summaries
from hpcscope.statistics.summary import Summary, headlines
from tests.imports.reading import data, read

ALL, RANK = "application.caliper", "application.caliper_rank"


def test_times_of_regions_and_ranks() -> None:
    found = read("caliper", data("caliper-ranks.json"))
    assert found.unread == []
    times = found.figures(RANK, "time_s")
    solve = [one for one in times if one.parameters["region"] == "main/solve"]
    assert [(one.parameters["rank"], one.values) for one in solve] == [(0, (1.75,)), (1, (1.25,))]
    assert [one.parameters["region"] for one in times[:4]] == [
        "outside of regions",
        "main",
        "main/solve",
        "main/solve/MPI_Allreduce",
    ]
    assert {(one.ranks, one.parameters["program"], one.parameters["value"]) for one in times} == {
        (2, "heat", "time")
    }
    rows = data("caliper-ranks.json").splitlines()
    assert [float(rows[one.line - 1].split(",")[2]) for one in times] == [one.values[0] for one in times]


def test_metadata_are_those_of_the_run() -> None:
    reading: Reading = read("caliper", data("caliper-ranks.json")).reading
    assert (reading.program, reading.hosts) == ("Caliper 2.11.0", ["node1", "node2"])
    assert reading.started_unix_s == 1_700_000_000
    assert reading.differences == ["Caliper: metadata are left out: cali.channel, cluster, problem_size"]


def test_values_over_all_ranks_have_no_rank() -> None:
    found = read("caliper", data("caliper-all-ranks.json"))
    assert found.values(ALL, "time_s") == [2.5, 1.5, 0.75, 0.25]
    (sent,) = found.figures(ALL, "value")
    assert (sent.values, sent.ranks, sent.parameters["source_file"]) == ((4096,), 8, "calc.cpp")
    assert "Caliper: total bytes sent has no unit" in found.reading.differences
    assert found.unread == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"parent": 0', '"parent": 2'),
        ('"nodes": [', '"nodes": 7, "others": ['),
        ('"columns": [ "Node order",', '"columns": ['),
        ("0.250000,0 ]", "0.250000,9 ]"),
        ("0.250000,0 ]", '"a",0 ]'),
        ("0.250000,0 ]", "true,0 ]"),
    ],
)
def test_a_document_that_is_wrong_ends_no_reading(old: str, new: str) -> None:
    assert old in data("caliper-ranks.json")
    values = read("caliper", data("caliper-ranks.json")).values(RANK, "time_s")
    left = read("caliper", data("caliper-ranks.json").replace(old, new)).values(RANK, "time_s")
    assert set(left) <= set(values)


def _again(run: Path, folder: Path) -> list[Summary]:
    file = folder / "exported.json"
    file.write_text(exported("thicket", [run]))
    return headlines(read_summaries(imported(None, [file], None, folder / "again")))


def test_what_scope_exported_has_the_same_values(golden_run: Path, tmp_path: Path) -> None:
    before, after = headlines(read_summaries(golden_run)), _again(golden_run, tmp_path)
    ends = {"": "median", " low": "ci_low", " high": "ci_high"}
    truth = {
        (f"{one.benchmark.partition('.')[0]}/{one.benchmark}/{one.label}", f"{one.metric}{end}"): (
            getattr(one, key),
            one.ranks,
        )
        for one in before
        if one.valid
        for end, key in ends.items()
        if getattr(one, key) is not None
    }
    assert len(truth) > 20
    found = {(one.parameters["region"], one.parameters["value"]): (one.median, one.ranks) for one in after}
    assert found == truth
    units = {one.metric: one.unit for one in before}
    basic = {one.parameters["value"]: one.unit for one in after}
    assert all(basic[name] == unit for name, unit in units.items() if name in basic)


def test_values_of_a_lab_remain_such(golden_run: Path) -> None:
    document = json.loads(exported("thicket", [golden_run]))
    for origin, expected in (
        ("measured", "imported"),
        ("emulated", "emulated"),
        ("emulated measured", "emulated"),
    ):
        text = json.dumps({**document, "origin": origin}, indent=1)
        assert {one.origin for one in read("caliper", text).reading.figures} == {expected}
