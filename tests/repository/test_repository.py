"""A repository: runs are kept whole, found again, exchanged, and never silently damaged."""

from __future__ import annotations

import json
import lzma
import os
import re
import shutil
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hpcscope.archive.entry import cluster_name, fingerprint
from hpcscope.archive.index import RunChoice
from hpcscope.archive.repository import Exchanged, Repository
from hpcscope.cli import answer
from hpcscope.errors import ScopeError, UsageError
from hpcscope.machine.machine import Machine
from hpcscope.rundirectory import RunDirectory, read_json, size_of
from tests.cli.scope_command import SCOPE
from tests.messages import mentions
from tests.patience import PATIENCE_S


def variant(run: Path, folder: Path, name: str, days: int = 0) -> Path:
    """The run again, under another name and some days later."""
    made = folder / name
    shutil.copytree(run, made)
    (made / "checksums.sha256").unlink(missing_ok=True)
    record = json.loads((made / "run.json").read_text())
    record |= {"name": name, "started_unix_s": record["started_unix_s"] + 86400 * days}
    (made / "run.json").write_text(json.dumps(record))
    return made


@pytest.fixture
def runs(golden_run: Path, tmp_path: Path) -> list[Path]:
    return [variant(golden_run, tmp_path, name, days) for days, name in enumerate(("winter", "spring", "summer"))]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "kept", make=True)


def names(repository: Repository, **choice: object) -> list[str]:
    return [one.name for one in repository.chosen(RunChoice(**choice))]  # type: ignore[arg-type]


def test_a_kept_run_is_compact_and_comes_back_whole(
    repository: Repository, golden_run: Path, tmp_path: Path
) -> None:
    ((one, new),) = repository.add([golden_run], tags=["first"], note="as bought")
    assert new
    assert one.size_bytes * 6 < size_of(golden_run)
    to = ["--to", str(tmp_path / "back"), "--in", str(repository.folder.path)]
    assert answer(["repo", "unpack", one.id[:6], *to]) == 0
    for name in ("run.json", "samples.jsonl", "machine.json", "statistics.json"):
        assert (tmp_path / "back" / one.id / name).read_bytes() == (golden_run / name).read_bytes()


def test_a_file_of_the_repository_reads_as_the_run_does(
    repository: Repository, golden_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.add([golden_run])
    file = str(repository.file("latest"))
    capsys.readouterr()
    assert answer(["show", file, "--json"]) == 0
    kept = capsys.readouterr().out
    assert answer(["show", str(golden_run), "--json"]) == 0
    assert kept == capsys.readouterr().out


def test_runs_are_found_by_what_is_known_of_them(repository: Repository, runs: list[Path]) -> None:
    repository.add(runs)
    repository.note("latest", tags=["new", "kernel-6"], cluster="giza")
    assert names(repository) == ["summer", "spring", "winter"]
    assert names(repository, most=1) == names(repository, tags=["new"]) == names(repository, cluster="giza")
    assert names(repository, tags=["new", "other"]) == []
    assert names(repository, name="*er") == ["summer", "winter"]
    assert names(repository, benchmark="mpi.latency") == names(repository, benchmark="mpi") == names(repository)
    assert names(repository, benchmark="storage") == []
    started = read_json(RunDirectory(runs[1]).run, dict[str, object])["started_unix_s"]
    assert names(repository, since_unix_s=started) == ["summer", "spring"]
    assert names(repository, until_unix_s=started) == ["winter"]


def test_figures_are_those_of_the_run(repository: Repository, golden_run: Path) -> None:
    repository.add([golden_run])
    _, figures = repository.with_figures("latest")
    statistics = json.loads((golden_run / "statistics.json").read_text())["summaries"]
    wanted = {
        (one["label"], one["metric"], one["median"], one["ci_low"])
        for one in statistics
        if one["primary"] and one["valid"] and one["median"] is not None
    }
    assert {(one.label, one.metric, one.median, one.low) for one in figures} == wanted


def test_a_run_that_is_kept_already_only_gets_the_notes(repository: Repository, runs: list[Path]) -> None:
    ((first, _),) = repository.add(runs[:1], tags=["a"], note="one")
    ((second, new),) = repository.add(runs[:1], tags=["b"])
    assert (new, second.id, second.notes.tags, second.notes.note) == (False, first.id, ["a", "b"], "one")
    assert len(repository.folder.ids()) == 1
    assert repository.note("latest", untag=["a"], note="").notes.tags == ["b"]


def test_the_cluster_is_known_again_after_an_update(repository: Repository, runs: list[Path]) -> None:
    repository.add(runs[:1], cluster="giza")
    machine = RunDirectory(runs[1]).machine
    record = json.loads(machine.read_text())
    record["hosts"][0] |= {"kernel": "9.9.9", "microcode": "0xff", "boot_id": "another"}
    machine.write_text(json.dumps(record))
    ((updated, _),) = repository.add(runs[1:2])
    assert updated.notes.cluster == "giza"
    record["hosts"][0]["processor"]["cores"] *= 2
    other = Machine.model_validate(record)
    assert fingerprint(other) != updated.fingerprint
    record["hosts"][0]["name"] = "node017.giza.example"
    assert cluster_name(Machine.model_validate(record)) == "node"


def test_the_index_made_anew_says_the_same(repository: Repository, runs: list[Path]) -> None:
    repository.add(runs, tags=["kept"])
    before = [(one, repository.with_figures(one.id)[1]) for one in repository.chosen(RunChoice())]
    repository.folder.index.unlink()
    assert [(one, repository.with_figures(one.id)[1]) for one in repository.chosen(RunChoice())] == before
    repository.folder.index.write_bytes(b"no database" * 1000)
    assert [(one, repository.with_figures(one.id)[1]) for one in repository.chosen(RunChoice())] == before
    with sqlite3.connect(repository.folder.index) as connection:
        connection.execute("PRAGMA user_version = 99")
    assert [(one, repository.with_figures(one.id)[1]) for one in repository.chosen(RunChoice())] == before
    assert repository.verify() == []


def test_damage_is_named_and_never_used(
    repository: Repository, runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    repository.add(runs)
    victim, cut, other = repository.chosen(RunChoice())
    content = bytearray(repository.folder.run(victim.id).read_bytes())
    content[len(content) // 2] ^= 1
    repository.folder.run(victim.id).write_bytes(content)
    repository.folder.notes_file(cut.id).write_text("{")
    assert {(one.id, "checksum" in one.what or "JSON" in one.what) for one in repository.verify()} == {
        (victim.id, True),
        (cut.id, True),
    }
    with pytest.raises(UsageError, match=rf"{victim.id}.* checksum"):
        repository.file(victim.id)
    assert {one.id for one in repository.rebuild()} == {victim.id, cut.id}
    assert names(repository) == [other.name]
    capsys.readouterr()
    assert answer(["repository", "verify", "--in", str(repository.folder.path)]) == 1
    assert victim.id in capsys.readouterr().err


def test_a_run_of_another_name_is_refused(repository: Repository, runs: list[Path]) -> None:
    (one, _), (two, _) = repository.add(runs[:2])
    shutil.copy(repository.folder.run(one.id), repository.folder.run(two.id))
    shutil.copy(repository.folder.notes_file(one.id), repository.folder.notes_file(two.id))
    (problem,) = repository.rebuild()
    assert problem.id == two.id
    assert "whose id does not match" in problem.what


def test_a_bomb_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hpcscope.archive.packing.MOST_BYTES", 1 << 20)
    bomb = tmp_path / "bomb.zip.xz"
    bomb.write_bytes(lzma.compress(bytes(1 << 24)))
    assert answer(["show", str(bomb)]) == 2
    assert mentions(capsys.readouterr().err, f"{bomb}: ... 0.0 GB")
    bomb.write_bytes(lzma.compress(b"no archive")[:-4])
    assert answer(["show", str(bomb)]) == 2
    assert mentions(capsys.readouterr().err, f"{bomb}: ... truncated")


def test_writers_wait_for_each_other(repository: Repository, runs: list[Path]) -> None:
    command = [str(SCOPE), "repository", "add", "--in", str(repository.folder.path)]
    writers = [subprocess.Popen([*command, str(run)], stdout=subprocess.PIPE) for run in runs]
    assert [writer.wait(timeout=PATIENCE_S) for writer in writers] == [0, 0, 0]
    assert names(repository) == ["summer", "spring", "winter"]
    assert repository.verify() == []


def test_no_note_is_lost_where_several_people_write_at_once(repository: Repository, golden_run: Path) -> None:
    repository.add([golden_run])

    def tagged(person: int) -> None:
        own = Repository(repository.folder.path)
        for number in range(5):
            own.note("latest", tags=[f"tag-{person}-{number}"])

    with ThreadPoolExecutor() as people:
        list(people.map(tagged, range(4)))
    notes = repository.named("latest").notes
    assert len(notes.tags) == 20
    assert notes == repository.folder.notes(repository.named("latest").id)


def test_runs_travel_between_repositories(repository: Repository, runs: list[Path], tmp_path: Path) -> None:
    repository.add(runs[:2], tags=["from-here"])
    other = tmp_path / "other"
    assert repository.push(str(other)) == Exchanged(2, 0, [])
    assert repository.push(str(other)) == Exchanged(0, 0, [])
    there = Repository(other)
    there.add(runs[2:])
    assert repository.pull(str(other)) == Exchanged(1, 0, [])
    assert names(repository) == names(there) == ["summer", "spring", "winter"]
    assert there.named(repository.named("latest").id).notes.cluster
    # What was said last wins, wherever it was said; a checksum stays with its file.
    one = repository.named("latest").id
    repository.note(one, tags=["older"], note="here")
    there.note(one, note="there", untag=["from-here"])
    assert repository.push(str(other)) == Exchanged(0, 0, [])
    assert repository.pull(str(other)) == Exchanged(0, 1, [])
    assert repository.named(one).notes == repository.folder.notes(one)
    assert (repository.named(one).notes.tags, repository.named(one).notes.note) == ([], "there")
    repository.note(one, tags=["newer"])
    assert repository.push(str(other)) == Exchanged(0, 1, [])
    assert there.named(one).notes.tags == ["newer"]
    assert (repository.verify(), there.verify()) == ([], [])
    damaged = repository.named("latest").id
    with pytest.raises(ScopeError, match="nowhere"):
        repository.pull(str(tmp_path / "nowhere"))
    repository.remove([damaged])
    there.folder.run(damaged).write_bytes(b"x")
    taken = repository.pull(str(other))
    assert (taken.runs, [one.id for one in taken.damaged]) == (0, [damaged])
    assert "checksum" in taken.damaged[0].what
    assert damaged not in repository.folder.ids()


def hostile_repository(folder: Path, runs: list[Path]) -> tuple[Repository, list[str]]:
    """A repository with other things among its runs; and the ids of the runs, of which the last is good."""
    made = Repository(folder, make=True)
    ids = [one.id for one, _ in made.add(runs)]
    inside = folder / "runs"
    (inside / "conftest.py").write_text("raise SystemExit")
    (inside / "run").write_text("#!/bin/sh\n")
    (inside / "run").chmod(0o755)
    (inside / "0123456789abcdef.zip.xz").symlink_to("/etc/passwd")
    os.mkfifo(inside / "0123456789abcde0.json")
    os.mkfifo(inside / "0123456789abcde0.zip.xz")
    made.folder.run(ids[0]).chmod(0o755)
    made.folder.run(ids[0]).write_bytes(b"damaged")
    notes = made.folder.notes(ids[1])
    made.folder.write_notes(ids[1], notes.model_copy(update={"noted_unix_s": 3.9e9, "note": "for good"}))
    return made, ids


def test_only_good_runs_are_pulled(repository: Repository, runs: list[Path], tmp_path: Path) -> None:
    _, ids = hostile_repository(tmp_path / "other", runs)
    taken = repository.pull(str(tmp_path / "other"))
    assert taken.runs == 1
    refused = {one.id: one.what for one in taken.damaged}
    assert sorted(refused) == sorted([ids[0], ids[1], "0123456789abcde0", "0123456789abcdef"])
    assert "checksum" in refused[ids[0]]
    assert "in the future" in refused[ids[1]]
    found = sorted(file.name for file in (repository.folder.path / "runs").iterdir())
    assert found == [f"{ids[2]}.json", f"{ids[2]}.zip.xz"]


def test_notes_from_the_future_do_not_win(repository: Repository, runs: list[Path], tmp_path: Path) -> None:
    (one, _) = repository.add(runs[:1])[0]
    other, ids = hostile_repository(tmp_path / "other", [runs[1], runs[0], runs[2]])
    assert ids[1] == one.id
    assert repository.pull(str(tmp_path / "other")).notes == 0
    repository.note(one.id, note="said now")
    other.pull(str(repository.folder.path))
    assert other.folder.notes(one.id).note == "said now"


def test_only_what_an_id_names_is_removed(
    repository: Repository, runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    repository.add(runs)
    (repository.folder.path / "runs" / "mine.txt").write_text("x")
    place = ["--in", str(repository.folder.path)]
    for odd in ("..", "runs", "*", "", "a/b", "abc"):
        assert answer(["repo", "remove", odd, "--yes", *place]) == 2
    assert answer(["repo", "remove", "latest", "--yes", *place]) == 0
    assert names(repository) == ["spring", "winter"]
    assert (repository.folder.path / "runs" / "mine.txt").exists()
    assert len(repository.folder.ids()) == 2


def test_what_is_no_repository_is_left_alone(tmp_path: Path, golden_run: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    assert answer(["repo", "add", str(golden_run), "--in", str(tmp_path / "mine")]) == 2
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    assert answer(["repo", "list", "--in", str(tmp_path / "nowhere")]) == 2
    assert not (tmp_path / "nowhere").exists()


def test_a_run_that_has_not_ended_is_not_kept(repository: Repository, runs: list[Path]) -> None:
    record = json.loads((runs[0] / "run.json").read_text())
    (runs[0] / "run.json").write_text(json.dumps(record | {"status": "running", "finished_unix_s": None}))
    with pytest.raises(UsageError, match=str(runs[0])):
        repository.add(runs[:1])
    assert repository.folder.ids() == set()


@pytest.mark.parametrize(
    ("remarks", "said"),
    [
        ({"tags": ["../../x"]}, "tag = ../../x: "),
        ({"note": "a\nb"}, "note = a\nb: "),
        ({"cluster": "\x1b[2J"}, "cluster = \x1b[2J: "),
    ],
)
def test_remarks_that_could_mislead_are_refused(
    remarks: dict[str, Any], said: str, golden_run: Path, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "kept", make=True)
    with pytest.raises(UsageError, match=re.escape(said)):
        repository.add([golden_run], **remarks)
    assert repository.folder.ids() == set()
