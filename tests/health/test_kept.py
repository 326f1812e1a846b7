"""Checks in a repository: listed, shown next to their past, in a history, and without names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpcscope.archive.earlier_checks import kept
from hpcscope.archive.history import history, steadiest
from hpcscope.archive.repository import Repository
from hpcscope.cli import dispatch
from hpcscope.engine import health as engine
from hpcscope.health.records import HealthFile
from hpcscope.health.verdict import judge
from hpcscope.rundirectory import read_json, write_json
from tests.health.recorded_fleet import FACTS, on, record, slower
from tests.health.test_history import DAY_S, checks, moved
from tests.health.test_verdict import verdicts

HOSTS = ("n3", "n5")


def written(folder: Path, made: HealthFile) -> Path:
    folder.mkdir()
    write_json(folder / "health.json", made)
    return folder


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The user's repository with six earlier checks of twelve nodes."""
    monkeypatch.setenv("SCOPE_REPOSITORY", str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)
    found = Repository(make=True)
    found.add([written(tmp_path / f"check-{number}", made) for number, made in enumerate(checks())], ["night"])
    return found


def test_checks_are_listed_and_shown_next_to_their_past(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = record(change=slower(1.3, "arithmetic", {f"n{number}" for number in range(1, 13)}))
    assert verdicts(judge(now)) == {}  # all are equally slow: only the past tells
    ((entry, new),) = repository.add([written(tmp_path / "now", now)])
    assert (new, entry.name, entry.status, entry.notes.cluster) == (True, "health", "finished", "n")
    assert entry.hosts == now.hosts
    ((again, new),) = repository.add([tmp_path / "now"])
    assert (new, again.id) == (False, entry.id)
    assert dispatch("repository", ["show", entry.id, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert [figure["benchmark"] for figure in figures] == [
        *("health.arithmetic", "health.disk_write", "health.memory_bandwidth")
    ]
    assert dispatch("repository", ["show", entry.id]) == 0
    assert "12 suspect" in capsys.readouterr().out
    for words in (["show", str(tmp_path / "now")], ["show", str(repository.file(entry.id))]):
        assert dispatch(words[0], words[1:]) == 0
        assert "0 of 12 nodes are healthy; 12 suspect." in capsys.readouterr().out
    assert repository.verify() == []
    assert repository.rebuild() == []


def test_one_past_from_the_folder_of_runs_and_the_repository(repository: Repository, tmp_path: Path) -> None:
    # The checks are in both; none counts twice. A check of other hosts is no past.
    other = moved(record(), -99 * DAY_S)
    names = {"hosts": [f"x{host}" for host in other.hosts]}
    names["visits"] = [visit.model_copy(update={"host": f"x{visit.host}"}) for visit in other.visits]
    renamed = other.model_copy(update=names)
    repository.add([written(tmp_path / "elsewhere", renamed)])
    for place in (None, repository.folder.path):
        past = engine.earlier(tmp_path, record(), kept(place))
        assert {len(node.places["arithmetic", ""].costs) for node in past.values()} == {6}
    assert len(engine.earlier(tmp_path / "nowhere", record(), kept())) == 12
    assert engine.earlier(tmp_path / "nowhere", record(), kept(tmp_path)) == {}


def test_a_damaged_repository_of_the_user_keeps_no_check_from_its_end(
    tmp_path: Path, repository: Repository
) -> None:
    repository.folder.mark.write_text('{"format": 99}')
    assert engine.earlier(tmp_path / "nowhere", record(), kept()) == {}


def test_a_change_of_the_whole_fleet_is_in_the_history(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "kept", make=True)
    newer = on("n2", facts={**FACTS, "kernel": "7"})
    slow = slower(1.3, "arithmetic", {f"n{number}" for number in range(1, 6)})
    for day in range(22):
        made = moved(record(5, stages=(1,), seed=day), day * DAY_S)
        changed = [newer(slow(visit)) for visit in made.visits] if day > 10 else made.visits
        repository.add([written(tmp_path / f"{day}", made.model_copy(update={"visits": changed}))])
    (event,) = history(repository, None, ["health"]).events
    assert [change.course.benchmark for change in event.changes] == ["health.arithmetic"]
    assert event.changes[0].worse == pytest.approx(0.3, abs=0.02)
    assert event.differences == ["kernel: nothing -> 7"]
    assert steadiest(repository, "n") == []  # nothing that --confirm could measure again


def test_a_copy_without_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = {
        "interface enx001122334455 MTU": "1500",
        "interface eth0 MTU": "9000",
        "InfiniBand secretfabric/1 rate": "100 Gb/sec",
        "kernel": "6.1.0-secretsite",
    }
    dead = "ssh: connect to host front77.secret.example port 22: 10.9.8.7 SN-4711ABC refused"

    def change(visit: HealthFile) -> HealthFile:
        made = slower(1.5, "arithmetic", {"n3"})(visit)
        made = on("n5", error=dead, values=[], facts={}, before={}, after={})(made)
        return made.model_copy(update={"facts": {**made.facts, **secret} if made.facts else {}})

    made = record(change=change)
    names = {host: f"{host}.secret.example" for host in made.hosts}
    made = made.model_copy(
        update={
            "hosts": list(names.values()),
            "command": ["scope", "health", "--hosts", "n[1-12].secret.example"],
            "visits": [visit.model_copy(update={"host": names[visit.host]}) for visit in made.visits],
        }
    )
    written(tmp_path / "run", made)
    (tmp_path / "run" / "topology.toml").write_text('name = "secret"')
    assert dispatch("anonymize", [str(tmp_path / "run"), str(tmp_path / "copy"), "--yes"]) == 0
    assert "Left out: topology.toml" in capsys.readouterr().out
    text = (tmp_path / "copy" / "health.json").read_text()
    for word in ("secret", "001122334455", "10.9.8.7", "4711ABC", "front77"):
        assert word not in text
    copied = read_json(tmp_path / "copy" / "health.json", HealthFile)
    assert copied.hosts == [f"host{number}" for number in range(1, 13)]
    assert copied.visits[0].facts["interface eth0 MTU"] == "9000"
    assert verdicts(judge(copied)) == {"host3": "bad", "host5": "no answer"}
