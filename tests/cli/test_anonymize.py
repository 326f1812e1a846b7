"""`scope anonymize`: nothing that names a host or a person is in the copy, and all figures are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpcscope.archive.anonymize import StandIns, anonymize
from hpcscope.cli import answer
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.rundirectory import read_json

SECRETS = ("pluto17", "cluster.example", "ada", "10.1.2.3", "fe80::1234", "0c:42:a1:00:11:22", "weather")


@pytest.fixture
def telling(golden_copy: Path) -> Path:
    """A run whose files name a host, a person, folders and addresses."""
    (golden_copy / "checksums.sha256").unlink(missing_ok=True)
    for file in golden_copy.rglob("*"):
        if file.suffix in (".json", ".jsonl"):
            file.write_text(file.read_text().replace('"node1"', '"pluto17.cluster.example"'))
    machine = json.loads((golden_copy / "machine.json").read_text())
    machine["hosts"][0]["links"][0]["addresses"] = ["10.1.2.3", "fe80::1234", "127.0.0.1"]
    machine["environment"] = {"SCOPE_CACHE": "/users/ada/cache", "NOTE": "ada@cluster.example 0c:42:a1:00:11:22"}
    (golden_copy / "machine.json").write_text(json.dumps(machine))
    run = json.loads((golden_copy / "run.json").read_text())
    run["command"] = ["scope", "run", "--output", "/scratch/ada/weather/run", "--hosts", "pluto17:2"]
    (golden_copy / "run.json").write_text(json.dumps(run))
    (golden_copy / "launches" / "0001-1").mkdir(parents=True, exist_ok=True)
    (golden_copy / "launches" / "0001-1" / "stderr.txt").write_text("pluto17: cannot open /users/ada/weather/x\n")
    return golden_copy


def test_nothing_that_names_anybody_is_left(
    telling: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(["anonymize", str(telling), str(tmp_path / "copy"), "--word", "ada"]) == 0
    printed = capsys.readouterr().out
    texts = [file.read_text() for file in (tmp_path / "copy").rglob("*") if file.is_file()]
    for secret in SECRETS:
        assert not any(secret in text for text in [*texts, printed]), secret
    assert "processors" in printed
    assert "127.0.0.1" in (tmp_path / "copy" / "machine.json").read_text()


def test_equal_names_stay_equal_and_figures_stay(telling: Path, tmp_path: Path) -> None:
    done = anonymize(telling, tmp_path / "copy")
    before, after = Run(telling), Run(done.folder)
    assert done.stand_ins["pluto17.cluster.example"] == done.stand_ins["pluto17"] == "host1"
    assert "host1:2" in after.record.command
    assert "host1: cannot open /path" in (done.folder / "launches" / "0001-1" / "stderr.txt").read_text()
    for one, other in zip(before.raw_samples.cases, after.raw_samples.cases, strict=True):
        assert [times.elapsed_s.tolist() for times in one.times] == [
            times.elapsed_s.tolist() for times in other.times
        ]
    assert after.raw_samples.damaged == before.raw_samples.damaged
    assert [one.case for one in after.raw_samples.cases] == [one.case for one in before.raw_samples.cases]
    assert answer(["analyze", str(done.folder)]) == 0


def test_the_copy_has_checksums_of_its_own(telling: Path, tmp_path: Path) -> None:
    folder = anonymize(telling, tmp_path / "copy").folder
    (folder / "machine.json").write_text((folder / "machine.json").read_text().replace("host1", "host2"))
    with pytest.raises(UsageError, match=r"machine\.json: .*checksums\.sha256"):
        read_json(folder / "machine.json", dict)


def test_nothing_is_overwritten(telling: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    assert answer(["anonymize", str(telling), str(tmp_path / "copy")]) == 2
    assert list((tmp_path / "copy").iterdir()) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("/usr/lib/libmpi.so on node1", "/usr/lib/libmpi.so on host1"),
        ("node10 and node1-ib stay", "node10 and node1-ib stay"),
        ("node1.mpi", "host1.mpi"),
        ("at 12:30:45, 1.2.3", "at 12:30:45, 1.2.3"),
        ("and/or 3/4", "and/or 3/4"),
        ("~/x /a/b /a/b", "~/x /path1 /path1"),
        ("boot 269d1f3f-2c59-4555-91e4-21c57e9e8c81", "boot 00000000-0000-0000-0000-000000000001"),
        ("std::vector and ::1", "std::vector and ::1"),
    ],
)
def test_stand_ins(text: str, wanted: str) -> None:
    assert StandIns({"node1": "host1"}).applied(text) == wanted
