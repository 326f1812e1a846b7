"""Published studies: their figures as data, and ours beside them from campaigns that are there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from scope.campaign import folder as folders
from scope.campaign import programs
from scope.campaign.allocation import pairings
from scope.campaign.features import Routine
from scope.campaign.folder import CampaignFolder
from scope.campaign.record import Journal, RunRecord
from scope.campaign.study import Value, made
from scope.cli import dispatch
from scope.models.published.reference import load, names
from tests.campaign.records import study

STUDIES = [name for name in names() if load(name).study is not None]


def figures(wall_s: float, cpu_s: float) -> dict[str, float]:
    return {"wall_s": wall_s, "compute_s": 0.6 * wall_s, "mpi_s": 0.4 * wall_s, "cpu_s": cpu_s, "system_s": 0.1}


def campaign(path: Path, kind: folders.Kind, records: list[RunRecord]) -> None:
    """A campaign that is finished."""
    path.mkdir(parents=True)
    head = folders.head_of(kind, made({"program": "./ssor"}, "here"), ["scope"])
    pairs = pairings([2] * 8, 1, 8)[0] if kind == "placement" else []
    folder = CampaignFolder(path)
    folders.begin(folder, head.model_copy(update={"status": "finished", "pairings": pairs, "lab": "a lab"}))
    journal = Journal(folder.records)
    for record in records:
        journal.add(record)


def rows(name: str, run: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    assert dispatch("reproduce", [name, "--run", str(run), "--json"]) == 0
    return {row["row"]: row for row in json.loads(capsys.readouterr().out)}


def test_studies_are_whole() -> None:
    assert STUDIES == ["gamma-table1", "netfinity-lu", "netfinity-placement", "netfinity-pstswm"]
    for name in STUDIES:
        published = load(name).study
        assert published is not None
        assert published.program in programs.names()
        networks = {network.name for network in published.network}
        assert {figure.network for figure in published.figure} == networks
        assert {figure.over for figure in published.figure} <= networks | {""}
        varied = any(len(values) > 1 for values in published.fitting.parameters.values())
        assert published.fitting.repetitions >= 6 or varied, "for intervals, or for groups"


def test_the_table_of_wall_clock_and_processor_agrees_with_itself() -> None:
    published = load("gamma-table1").study
    assert published is not None
    of = {figure.words: figure.published for figure in published.figure}
    for machine in ("MPICH TCP/IP", "MPI/GAMMA, flow control on"):
        wall, cpu = of[f"{machine}, wall-clock (a)"], of[f"{machine}, CPU time (b)"]
        assert wall is not None
        assert cpu is not None
        assert of[f"{machine}, (a) - (b)"] == pytest.approx(wall - cpu, abs=0.5)
        assert of[f"{machine}, (a) / (b)"] == pytest.approx(wall / cpu, abs=0.005)


def test_wall_clock_and_processor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def own(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
        share = 1 / int(point["ranks"])
        return (
            figures(3.0 * share, 2.0 * share) if point["transport"] == "tcp" else figures(2.0 * share, 2.0 * share)
        )

    points: list[dict[str, Value]] = [
        {"ranks": ranks, "transport": way} for ranks in (1, 2, 4) for way in ("tcp", "default")
    ]
    campaign(tmp_path / "here", "campaign", study(points, own))
    found = rows("gamma-table1", tmp_path, capsys)
    assert found["MPICH TCP/IP, wall-clock (a)"]["measured"] == pytest.approx(0.75)
    assert found["MPICH TCP/IP, (a) / (b)"]["measured"] == pytest.approx(1.5)
    assert found["MPI/GAMMA, flow control on, (a) - (b)"]["measured"] == pytest.approx(0)
    assert found["wall-clock, TCP/IP over GAMMA"]["measured"] == pytest.approx(1.5)
    share = found["serial share P, TCP/IP"]
    assert (share["published"], share["origin"]) == (0.23, "emulated")
    assert share["measured"] == pytest.approx(0, abs=0.01)


def test_protocols_of_two_networks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for lab, seconds in (("netfinity-myrinet", 0.3), ("netfinity", 0.1)):
        records = study([{"ranks": 8}], lambda _point, _random: figures(1.0, 1.0))
        used = Routine(calls=200, seconds=seconds, bytes=200_000)
        routines = {"MPI_Recv": used}
        campaign(
            tmp_path / lab, "campaign", [record.model_copy(update={"routines": routines}) for record in records]
        )
    found = rows("netfinity-lu", tmp_path, capsys)
    assert found["MPI_Recv, Myrinet"]["measured"] == pytest.approx(0.3)
    assert found["MPI_Recv over all communication, Ethernet"]["measured"] == pytest.approx(0.25)
    assert found["MPI_Recv, Myrinet over Ethernet"]["measured"] == pytest.approx(3.0)
    assert found["mean message of MPI_Recv"]["measured"] == pytest.approx(1000)
    assert found["calls of MPI_Recv by a process"]["measured"] == 200


def test_groups_of_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nine points of ten alike, and one far away in every feature."""

    def own(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
        scale = (10 if point["levels"] == 4 else 1) * random.normal(1, 0.01)
        parts = dict.fromkeys(("compute_s", "send_s", "receive_s", "exchange_s", "collective_s"), 0.1 * scale)
        return figures(scale, scale) | parts | {"communications": 50.0 / scale, "sent_bytes": 1e6 * scale}

    for lab in ("netfinity-myrinet", "netfinity"):
        points: list[dict[str, Value]] = [
            {"ranks": ranks, "levels": levels, "steps": steps}
            for ranks in (4, 8, 16)
            for levels in (1, 2, 3, 4)
            for steps in (1, 2, 3)
        ]
        campaign(tmp_path / lab, "campaign", study(points, own, repetitions=1))
    found = rows("netfinity-pstswm", tmp_path, capsys)
    assert found["share of the runs in group 1, Ethernet"]["measured"] == pytest.approx(0.75)
    assert found["share of the runs in group 2, Ethernet"]["published"] == pytest.approx(48 / 456, abs=1e-3)
    assert found["computation in group 1, Myrinet"]["measured"] == pytest.approx(0.1, rel=0.05)
    assert found["data in group 2, Myrinet"]["measured"] == pytest.approx(1e7, rel=0.05)
    assert found["communications in group 2, Ethernet"]["measured"] == pytest.approx(5, rel=0.05)
    assert found["computation, Ethernet over Myrinet"]["measured"] == pytest.approx(1)


def test_placements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def own(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
        return figures(1.44 if point["placement"] == "packed" else 1.0, 1.0)

    points: list[dict[str, Value]] = [
        {"placement": placement, "ranks": ranks}
        for placement, ranks in (("packed", 8), ("spread", 8), ("spread", 4))
    ]
    campaign(tmp_path / "netfinity", "placement", study(points, own))
    found = rows("netfinity-placement", tmp_path, capsys)
    assert found["BT, 100 processes on 50 nodes over 100 nodes, less one"]["measured"] == pytest.approx(0.44)
    assert found["of it computation (published: mainly)"]["measured"] == pytest.approx(0.6 * 0.44)


def test_a_folder_without_its_campaigns_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch("reproduce", ["netfinity-lu", "--run", str(tmp_path)]) == 2
    assert "must hold a campaign for each place: netfinity-myrinet, netfinity" in capsys.readouterr().err
