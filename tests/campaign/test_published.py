"""Published studies: their figures as data, and ours beside them from campaigns that are there."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from hpcscope.cli import dispatch
from hpcscope.engine.reproduce import places as published_places
from hpcscope.engine.reproduce import study as published_study
from hpcscope.models.published.judgement import KnownValues, compared
from hpcscope.models.published.reference import StudyScale, beside, load, names
from hpcscope.programs.campaign import folder as folders
from hpcscope.programs.campaign import programs
from hpcscope.programs.campaign.features import Routine
from hpcscope.programs.campaign.folder import CampaignFolder
from hpcscope.programs.campaign.placement import pairings
from hpcscope.programs.campaign.record import CampaignJournal, RunRecord
from hpcscope.programs.campaign.study import Value, made
from tests.campaign.records import study
from tests.messages import mentions

STUDIES = [name for name in names() if load(name).study is not None]


def figures(wall_s: float, cpu_s: float) -> dict[str, float]:
    return {"wall_s": wall_s, "compute_s": 0.6 * wall_s, "mpi_s": 0.4 * wall_s, "cpu_s": cpu_s, "system_s": 0.1}


def campaign(path: Path, kind: folders.Kind, records: list[RunRecord]) -> None:
    """A campaign that is finished."""
    path.mkdir(parents=True)
    head = folders.head_of(kind, made({"program": "./lu"}, "here"), ["scope"])
    pairs = pairings([2] * 8, 1, 8)[0] if kind == "placement" else []
    folder = CampaignFolder(path)
    folders.begin(folder, head.model_copy(update={"status": "finished", "pairings": pairs, "lab": "a lab"}))
    journal = CampaignJournal(folder.records)
    for record in records:
        journal.add(record)


def rows(name: str, run: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    assert dispatch("reproduce", [name, "--run", str(run), "--json"]) == 0
    return {row["row"]: row for row in json.loads(capsys.readouterr().out)}


def test_studies_are_whole() -> None:
    assert STUDIES == ["gamma-figure3", "gamma-table1", "netfinity-lu", "netfinity-placement", "netfinity-pstswm"]
    for name in STUDIES:
        published, places = load(name).study, load(name).place
        assert published is not None
        if published.application is None:
            assert {published.program, *(place.program for place in places)} - {""} <= set(programs.names())
        else:
            assert beside(published.application.input).is_file()
        networks = {place.name for place in places}
        assert {reading.place for reading in load(name).reading.values() if not reading.of} == networks
        varied = any(len(values) > 1 for values in published.fitting.parameters.values())
        assert published.fitting.repetitions >= 6 or varied, "for intervals, or for groups"


def test_the_table_of_wall_clock_and_processor_agrees_with_itself() -> None:
    of = {one.title: one.published for one in load("gamma-table1").statement}
    for machine in ("MPICH TCP/IP", "MPI/GAMMA, flow control on", "MPI/GAMMA, flow control off"):
        wall, cpu = of[f"{machine}, wall-clock (a)"], of[f"{machine}, CPU time (b)"]
        assert wall is not None
        assert cpu is not None
        assert of[f"{machine}, (a) - (b)"] == pytest.approx(wall - cpu, abs=0.5)
        assert of[f"{machine}, (a) / (b)"] == pytest.approx(wall / cpu, abs=0.005)


def test_wall_clock_and_processor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seconds = {"tcp": (3.0, 2.0), "active-messages": (2.0, 2.0), "default": (1.0, 1.0)}
    seconds["active-messages.no-flow-control"] = (4.0, 3.0)

    def own(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
        wall_s, cpu_s = seconds[str(point["transport"])]
        share = 1 / int(point["ranks"])
        return figures(wall_s * share, cpu_s * share)

    def points(ranks: tuple[int, ...], *transports: str) -> list[dict[str, Value]]:
        return [{"ranks": count, "transport": way} for count in ranks for way in transports]

    over = [name for name in seconds if name != "default"]
    campaign(tmp_path / "gamma", "campaign", study(points((4,), *over), own))
    campaign(tmp_path / "here", "campaign", study(points((4,), "default"), own))
    found = rows("gamma-table1", tmp_path, capsys)
    assert found["MPI/GAMMA, flow control off, (a) - (b)"]["measured"] == pytest.approx(0.25)
    assert found["RISC machine (1.5 GHz), wall-clock (a)"]["measured"] == pytest.approx(0.25)
    assert dispatch("reproduce", ["gamma-table1", "--run", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for words in (
        r"MPICH TCP/IP, wall-clock \(a\) +93\.0 s +– +750 ms",
        r"MPICH TCP/IP, CPU time \(b\) +67\.0 s +– +500 ms",
        r"MPICH TCP/IP, \(a\) - \(b\) +26\.0 s +– +250 ms",
        r"MPICH TCP/IP, \(a\) / \(b\) +1\.39 +– +1\.50",
    ):
        assert re.search(words, printed)
    assert found["MPICH TCP/IP, wall-clock (a)"]["measured"] == pytest.approx(0.75)
    assert found["MPICH TCP/IP, (a) / (b)"]["measured"] == pytest.approx(1.5)
    assert found["MPI/GAMMA, flow control on, (a) - (b)"]["measured"] == pytest.approx(0)
    assert found["wall-clock, TCP/IP / GAMMA"]["measured"] == pytest.approx(1.5)


@pytest.mark.parametrize("counts", [(1, 2), (1, 2, 4)])
def test_the_serial_share_and_speed_up(
    counts: tuple[int, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serial = {"tcp": 0.3, "active-messages": 0.0}

    def own(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
        share = serial[str(point["transport"])]
        seconds = share + (1 - share) / int(point["ranks"])
        return figures(seconds, seconds)

    points: list[dict[str, Value]] = [{"ranks": count, "transport": way} for count in counts for way in serial]
    campaign(tmp_path / "gamma", "campaign", study(points, own))
    found = rows("gamma-figure3", tmp_path, capsys)
    share = found["serial fraction P, TCP/IP"]
    assert (share["published"], share["origin"]) == (0.23, "emulated")
    assert share["measured"] == pytest.approx(0.3, abs=0.01)
    assert found["serial fraction P, GAMMA"]["measured"] == pytest.approx(0, abs=0.01)
    assert found["speedup on 2 processes, TCP/IP"]["measured"] == pytest.approx(1 / 0.65)
    assert (found["speedup on 3 processes, GAMMA"]["measured"], counts[1]) == (None, 2)


def test_an_application_that_is_not_here_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert dispatch("reproduce", ["gamma-table1"]) == 2
    assert mentions(capsys.readouterr().err, "cp2k.psmp: ... apt install cp2k")


@pytest.mark.slow(
    "starts CP2K twice, which few machines have; tests/campaign/test_monitored.py runs a program over active "
    "messages, and the other tests here judge written campaigns of CP2K"
)
@pytest.mark.skipif(shutil.which("cp2k.psmp") is None, reason="cp2k is not installed")
def test_the_application_runs_over_active_messages_and_through_shared_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reference = load("gamma-table1")
    assert reference.study is not None
    tiny = StudyScale(arguments="-E NX=1 -E NY=1 -E NZ=1 -E STEPS=1", ranks=[2], repetitions=1)
    here = [
        place.model_copy(update={"lab": None})
        for place in reference.place
        if place.transport in ("default", "active-messages")
    ]
    commands = published_study.commands(reference.study, here, tiny, None, tmp_path, None)
    published_places.measure(here, commands, tmp_path)
    known = KnownValues(reference.reading, published_places.observed(here, tmp_path), {})
    rows = compared(reference.statement, known)
    found = [row for row in rows if row.measured is not None]
    assert len(found) == 4 + 1 + 4, "of active messages and of shared memory"
    for row in found:
        assert row.origin == "measured", row


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
    assert found["MPI_Recv / all communication, Ethernet"]["measured"] == pytest.approx(0.25)
    assert found["MPI_Recv, Myrinet / Ethernet"]["measured"] == pytest.approx(3.0)
    assert found["mean message of MPI_Recv"]["measured"] == pytest.approx(1000)
    assert found["calls of MPI_Recv by a process"]["measured"] == 200


def test_the_full_campaign_has_as_many_runs_as_the_published_one() -> None:
    scale = load("netfinity-pstswm").study
    assert scale is not None
    full = scale.full
    asked = {
        "program": full.arguments,
        "parameters": full.parameters,
        "further_parameters": full.further_parameters,
    }
    study = made({**asked, "ranks": full.ranks, "repetitions": full.repetitions}, "study.toml")
    assert len(study.runs()) == 456
    assert all(study.values_of("steps"))


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
    assert found["fraction of the runs in group 1, Ethernet"]["measured"] == pytest.approx(0.75)
    assert found["fraction of the runs in group 2, Ethernet"]["published"] == pytest.approx(48 / 456, abs=1e-3)
    assert found["computation in group 1, Myrinet"]["measured"] == pytest.approx(0.1, rel=0.05)
    assert found["data in group 2, Myrinet"]["measured"] == pytest.approx(1e7, rel=0.05)
    assert found["communications in group 2, Ethernet"]["measured"] == pytest.approx(5, rel=0.05)
    assert found["computation, Ethernet / Myrinet"]["measured"] == pytest.approx(1)


def test_placements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def own(point: Mapping[str, Value], random: np.random.Generator) -> dict[str, float]:
        return figures(1.44 if point["placement"] == "packed" else 1.0, 1.0)

    points: list[dict[str, Value]] = [
        {"placement": placement, "ranks": ranks}
        for placement, ranks in (("packed", 8), ("spread", 8), ("spread", 4))
    ]
    for program in ("application.npb_bt", "application.npb_ep"):
        campaign(tmp_path / f"netfinity-{program}", "placement", study(points, own))
    found = rows("netfinity-placement", tmp_path, capsys)
    assert found["EP, 128 processes on 64 nodes / 128 nodes, minus 1"]["measured"] == pytest.approx(0.44)
    assert found["BT, 100 processes on 50 nodes / 100 nodes, minus 1"]["measured"] == pytest.approx(0.44)
    assert found["part due to computation (published: mainly)"]["measured"] == pytest.approx(0.6 * 0.44)


def test_a_folder_without_its_campaigns_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch("reproduce", ["netfinity-lu", "--run", str(tmp_path)]) == 2
    assert mentions(capsys.readouterr().err, f"{tmp_path} ... netfinity-myrinet, netfinity")
