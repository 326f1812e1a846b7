"""Profiles in the forms of other programs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from hpcscope.errors import UsageError
from hpcscope.programs.profiles import exports
from hpcscope.programs.profiles.merged import merge
from hpcscope.programs.profiles.records import Merged
from tests.profiles import synthetic


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Merged:
    processes = synthetic.processes(2)
    for one in processes:
        one.add("modules", begin=4096, end=8192, bias=4096, path=b"/opt/app")
        one.add("sites", depth=2, frames=[4096 + 16, 4096 + 32, *[0] * 6])
        one.file("/scratch/out", writes=10, size=100, seconds=0.5)
        one.call("MPI_Send", 1.0, 10, 100, site=0).call("MPI_Barrier", 2.0, 5, 0)
    return merge(synthetic.write(tmp_path_factory.mktemp("program"), processes))


def test_files_has_a_line_for_each_file_and_layer(merged: Merged) -> None:
    lines = list(csv.DictReader(io.StringIO(exports.writer("files")([merged, merged]))))
    assert [(line["run"], line["path"], line["layer"]) for line in lines] == [
        ("0", "/scratch/out", "posix"),
        ("1", "/scratch/out", "posix"),
    ]
    assert (lines[0]["writes"], lines[0]["written_bytes"], lines[0]["write_s"]) == ("20", "2000", "1.0")


def test_csv_has_a_line_for_each_row(merged: Merged) -> None:
    lines = list(csv.DictReader(io.StringIO(exports.writer("csv")([merged, merged]))))
    assert [line["routine"] for line in lines] == ["MPI_Barrier", "MPI_Send"] * 2
    sent = lines[1]
    assert (sent["run"], sent["ranks"], sent["calls"], sent["bytes"], sent["least_bytes"]) == (
        *("0", "2", "20", "2000", "64"),
    )
    assert sent["place"] == "app+0x20 > app+0x10"
    assert float(sent["time_s"]) == pytest.approx(2)
    assert lines[3]["run"] == "1"


def test_extrap_has_a_measurement_on_each_line(merged: Merged) -> None:
    lines = [json.loads(line) for line in exports.writer("extrap")([merged]).splitlines()]
    found = {(line["callpath"], line["metric"]): line["value"] for line in lines}
    assert all(set(line) == {"params", "callpath", "metric", "value"} for line in lines)
    assert {line["params"]["p"] for line in lines} == {2}
    assert found["main", "time"] == pytest.approx(10)
    assert found["main->computation", "time"] == pytest.approx(7)
    assert found["main->app+0x20->app+0x10->MPI_Send", "time"] == pytest.approx(1)
    assert found["main->MPI_Barrier", "visits"] == 5


def inclusive(node: dict[str, Any]) -> float:
    return float(node["metrics"]["time"]) + sum(inclusive(child) for child in node["children"])


def test_hatchet_is_a_tree_whose_times_add_up(merged: Merged) -> None:
    (root,) = json.loads(exports.writer("hatchet")([merged]))
    assert root["metrics"]["time (inc)"] == pytest.approx(inclusive(root)) == pytest.approx(20)
    names = [child["frame"]["name"] for child in root["children"]]
    assert sorted(names) == ["MPI_Barrier", "app+0x20"]


def test_there_are_four_formats() -> None:
    assert exports.names() == ["csv", "extrap", "files", "hatchet"]


def test_a_folder_without_profiles_is_refused(tmp_path: Path) -> None:
    from hpcscope.engine.export import exported

    synthetic.write(tmp_path, synthetic.processes(1))
    with pytest.raises(UsageError, match="--trace START:SECONDS"):
        exported("chrome", [tmp_path])
    with pytest.raises(UsageError, match="chrome, csv, extrap, files, hatchet"):
        exported("xml", [tmp_path])
