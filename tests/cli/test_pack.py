"""`scope pack` and `scope unpack`: a run survives as it is, and an archive cannot do harm."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcscope.archive import packing
from hpcscope.cli import answer
from tests.messages import mentions


@pytest.fixture
def packed(golden_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert answer(["pack", str(golden_run)]) == 0
    return tmp_path / "golden.zip"


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert answer(list(words)) == 0
    return capsys.readouterr().out


def test_a_packed_run_reads_as_its_folder_does(
    packed: Path, golden_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, "show", "golden.zip", "--json") == printed(capsys, "show", str(golden_run), "--json")
    assert printed(capsys, "report", "golden.zip") == "golden.html\n"
    compared = printed(capsys, "compare", "golden.zip", str(golden_run))
    assert "golden.zip" in compared
    assert "scope-packed" not in compared
    assert printed(capsys, "unpack", "golden.zip") == "runs/golden\n"
    for file in golden_run.rglob("*"):
        if file.is_file() and file.name != ".lock":
            assert (tmp_path / "runs" / "golden" / file.relative_to(golden_run)).read_bytes() == file.read_bytes()


def test_an_archive_is_neither_overwritten_nor_unpacked_twice(
    packed: Path, golden_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = packed.read_bytes()
    assert answer(["pack", str(golden_run)]) == 2
    assert packed.read_bytes() == before
    assert answer(["unpack", "golden.zip", "--in", "a"]) == 0
    assert answer(["unpack", "golden.zip", "--in", "a"]) == 2
    assert "exists" in capsys.readouterr().err


def test_what_an_unpacked_run_names_is_not_started(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["unpack", "golden.zip"]) == 0
    assert answer(["run", "--resume", "runs/golden"]) == 2
    assert mentions(capsys.readouterr().err, "runs/golden: ... unpacked")
    assert answer(["compare", "--confirm", "golden.zip", "golden.zip"]) == 2
    assert "--confirm golden.zip: " in capsys.readouterr().err


def test_derived_results_are_written_into_folders_only(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["analyze", "golden.zip"]) == 2
    assert "scope unpack" in capsys.readouterr().err


def plain(name: str) -> Callable[[zipfile.ZipFile], None]:
    return lambda archive: archive.writestr(name, "x")


def typed(kind: int) -> Callable[[zipfile.ZipFile], None]:
    def add(archive: zipfile.ZipFile) -> None:
        entry = zipfile.ZipInfo("golden/odd")
        entry.external_attr = (kind | 0o777) << 16
        archive.writestr(entry, "/etc")

    return add


def many(archive: zipfile.ZipFile) -> None:
    for number in range(12):
        archive.writestr(f"golden/{number}", "")


HOSTILE = {
    "absolute": (plain("/tmp/x"), "inside one directory"),
    "parent": (plain("golden/../../x"), "inside one directory"),
    "here": (plain("golden/./x"), "inside one directory"),
    "backslash": (plain("golden\\..\\x"), "inside one directory"),
    "line break": (plain("golden/a\nb"), "line breaks"),
    "hidden": (plain(".ssh/authorized_keys"), "a letter"),
    "no folder": (plain("run.json"), "in the directory of the run"),
    "second folder": (plain("other/x"), "one top-level directory"),
    "long": (plain("golden/" + "x/" * 600 + "x"), "inside one directory"),
    "file below a file": (plain("golden/run.json/x"), "the same name"),
    "twice": (plain("golden/run.json"), "the same name"),
    "link": (typed(stat.S_IFLNK), "not a link or device"),
    "device": (typed(stat.S_IFBLK), "not a link or device"),
    "many": (many, "13 files ... 10 files"),
    "large": (lambda archive: archive.writestr("golden/zeros", bytes(3_000_000)), "2 files ... 0.0 GB"),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_hostile_archives_are_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add, words = HOSTILE[kind]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(packing, "MOST_FILES", 10)
    monkeypatch.setattr(packing, "MOST_BYTES", 1_000_000)
    with zipfile.ZipFile("hostile.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("golden/run.json", "{}")
        add(archive)
    assert answer(["unpack", "hostile.zip"]) == 2
    assert mentions(capsys.readouterr().err, words)
    assert answer(["show", "hostile.zip"]) == 2
    assert not list((tmp_path / "runs").iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hostile.zip", "runs"]


def test_a_flipped_bit_is_noticed(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = bytearray(packed.read_bytes())
    with zipfile.ZipFile(packed) as archive:
        entry = archive.getinfo("golden/samples.jsonl")
    content[entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2] ^= 16
    packed.write_bytes(content)
    assert answer(["unpack", "golden.zip"]) == 2
    assert "golden.zip: " in capsys.readouterr().err


def test_an_entry_that_begins_before_the_file_is_refused(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.zip"
    cut.write_bytes(packed.read_bytes()[10:])
    assert answer(["unpack", str(cut)]) == 2
    assert "before the start of the file" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04" + bytes(100)])
def test_other_files_are_no_packed_runs(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(content)
    for words in (["show"], ["unpack", "--in", str(tmp_path / "runs")], ["report"]):
        assert answer([*words, str(tmp_path / "file")]) == 2
        assert f"{tmp_path / 'file'}: " in capsys.readouterr().err


def test_a_device_without_end_is_no_packed_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["unpack", "/dev/full"]) == 2
    assert "/dev/full: " in capsys.readouterr().err


def test_links_in_a_run_are_left_out(golden_copy: Path, tmp_path: Path) -> None:
    (golden_copy / "secret").symlink_to("/etc/hostname")
    (golden_copy / "folder").symlink_to("/etc")
    target = packing.pack(golden_copy, tmp_path / "out.zip")
    with zipfile.ZipFile(target) as archive:
        assert not [name for name in archive.namelist() if "secret" in name or "folder" in name]
