"""`scope reproduce --all`, and experiments on several networks: what is done, kept, resumed, and said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from math import inf
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hpcscope.cli import dispatch
from hpcscope.engine.reproduce import everything, own_command
from hpcscope.engine.reproduce import places as published_places
from hpcscope.engine.reproduce.own_command import EndedCommand
from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch import processes
from hpcscope.models.published.reference import ReproductionPlace, Scale, SimulatedPlace, names

SCHEMA = Path(__file__).parents[2] / "schemas" / "reproductions.schema.json"
ROW = {
    "row": "barrier, TCP/IP over BIP",
    "published": 2.0,
    "predicted": None,
    "measured": 1.5,
    "unit": "1",
    "limit": None,
    "origin": "emulated",
    "size": 0,
    "ranks": 4,
    "remark": "",
    "where": "table <7.5>",
    "says": "twice as long",
    "relation": "above 1",
    "holds": "yes",
}


def test_all_goes_on_where_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[list[str]] = []
    failing, slow = {"grid-table2", "scope-psrs"}, ["param-nas"]

    def run(words: list[str], lab: str | None = None, limit_s: float = inf) -> EndedCommand:
        done.append(words)
        assert 0 < limit_s < inf
        if words[1] in failing:
            return EndedCommand(2, "", "scope: iproute2 is missing", False)
        if words[1] in slow:
            slow.remove(words[1])
            return EndedCommand(130, "", "interrupted", True)
        return EndedCommand(0, json.dumps([ROW]), "", False)

    monkeypatch.setattr(everything, "run_scope", run)
    out = tmp_path / "all"
    assert dispatch("reproduce", ["--all", "--quick", "--output", str(out)]) == 0
    assert [words[1] for words in done] == [*names(), "param-nas"], "time that is left is for what had too little"
    assert all(words[-4:] == ["--launches", "1", "--budget", "0.05"] for words in done)
    overview = json.loads((out / "reproductions.json").read_text())
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(overview)
    held = {one["name"] for one in overview["outcomes"] if [row["holds"] for row in one["rows"]] == ["yes"]}
    assert held == set(names()) - failing
    reasons = {one["name"]: one["reason"] for one in overview["outcomes"] if one["reason"]}
    assert reasons == dict.fromkeys(failing, "iproute2 is missing")
    said = capsys.readouterr().out
    assert "iproute2 is missing" in said
    assert str(len(names()) - 2) in said
    page = (out / "reproductions.html").read_text()
    assert "table &lt;7.5&gt;" in page
    assert "twice as long" in page
    assert "iproute2 is missing" in page

    done.clear()
    failing.clear()
    assert dispatch("reproduce", ["--all", "--quick", "--resume", str(out), "--json"]) == 0
    assert [words[1] for words in done] == ["grid-table2", "scope-psrs"]
    overview = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in overview["outcomes"]] == names()
    assert {one["reason"] for one in overview["outcomes"]} == {""}
    assert dispatch("reproduce", ["--all", "--resume", str(out)]) == 2
    assert "--quick" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--all", "scope-psrs"],
        ["--all", "--launches", "2"],
        ["--all", "--quick", "--full"],
        ["--quick", "scope-psrs"],
        ["scope-psrs", "--output", "a", "--resume", "b"],
        ["--all", "--resume", "."],
    ],
)
def test_what_does_not_go_together(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch("reproduce", words) == 2
    errors = capsys.readouterr().err
    assert any(word in errors for word in words if word.startswith("--"))


def test_places_that_cannot_be_measured_keep_no_other_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [
        ReproductionPlace(name=name, words=name, lab="sparc", fitting=Scale(launches=1, cases=[]))
        for name in ("a", "b", "c")
    ]
    commands = {
        place.name: ["run", str(tmp_path / f"{place.name}.toml"), "--output", str(tmp_path / place.name)]
        for place in places
    }
    done: list[list[str]] = []

    def run(words: list[str], lab: str | None = None, limit_s: float = inf) -> EndedCommand:
        done.append(words)
        folder = Path(words[-1])
        if folder.name == "b":
            return EndedCommand(2, "", "scope: ScaLAPACK is missing", False)
        folder.mkdir(exist_ok=True)
        (folder / "report.html").write_text("")
        return EndedCommand(0, "", "", False)

    monkeypatch.setattr(published_places, "run_scope", run)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "run.json").write_text("{}")
    published_places.measure(places, commands, tmp_path)
    assert published_places.absent(tmp_path) == {"b": "ScaLAPACK is missing"}
    assert [words[1] for words in done] == [
        str(tmp_path / "a.toml"),
        str(tmp_path / "b.toml"),
        "--resume",
    ], "c was begun"
    done.clear()
    published_places.measure(places, commands, tmp_path)
    assert [Path(words[-1]).name for words in done] == ["b"]
    with pytest.raises(ScopeError, match="ScaLAPACK is missing"):
        published_places.measure(places[1:2], {"b": commands["b"]}, tmp_path)


def test_a_simulation_is_begun_when_the_place_that_it_needs_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated = SimulatedPlace(
        of="lab", benchmarks=["algorithm.*"], ranks=[1, 16], reading="x", published_s=344, collectives="mpich"
    )
    places = [
        ReproductionPlace(name="lab", words="", lab="sparc", fitting=Scale(launches=1, cases=[])),
        ReproductionPlace(name="simulated", words="", simulated=simulated),
    ]
    done: list[str] = []

    def run(words: list[str], lab: str | None = None, limit_s: float = inf) -> EndedCommand:
        done.append(words[0])
        if words[0] == "run":
            return EndedCommand(2, "", "scope: iproute2 is missing", False) if failing else ended(words)
        return ended(words)

    def ended(words: list[str]) -> EndedCommand:
        Path(words[-1]).mkdir()
        (Path(words[-1]) / "report.html").write_text("")
        return EndedCommand(0, "", "", False)

    def simulation() -> list[str]:
        if not (tmp_path / "lab").exists():
            raise UsageError("lab: has no run")
        return ["simulate", "--output", str(tmp_path / "simulated")]

    monkeypatch.setattr(published_places, "run_scope", run)
    commands = {"lab": ["run", "--output", str(tmp_path / "lab")], "simulated": simulation}
    failing = True
    with pytest.raises(ScopeError, match="iproute2 is missing"):
        published_places.measure(places, commands, tmp_path)
    assert published_places.absent(tmp_path) == {"lab": "iproute2 is missing", "simulated": "lab: has no run"}
    failing = False
    published_places.measure(places, commands, tmp_path)
    assert (done, published_places.absent(tmp_path)) == (["run", "run", "simulate"], {})
    (tmp_path / "simulated" / "report.html").unlink()
    published_places.measure(places, commands, tmp_path)
    assert "delete it" in published_places.absent(tmp_path)["simulated"]
    assert done == ["run", "run", "simulate"], "it was interrupted, and is not begun over what is there"


def test_a_command_of_its_own_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, begun, limit_s = tmp_path / "python", tmp_path / "begun", 5.0
    os.mkfifo(begun)
    # One process, which an interrupt ends at any time: a shell may be about to start another one.
    stay = f'import signal; signal.signal(2, signal.SIG_DFL); open("{begun}", "w").close(); signal.pause()'
    program.write_text(
        "#!/bin/sh\necho out; echo first >&2; echo 'the reason' >&2\n"
        f"[ $4 = stay ] && exec {sys.executable} -S -c '{stay}'; exit 3\n"
    )
    program.chmod(0o755)

    ended_within = processes.has_ended

    def over(process: subprocess.Popen[str], seconds: float) -> bool:
        """The time of the command is over when it has said everything."""
        if seconds != limit_s:
            return ended_within(process, seconds)
        begun.read_text()
        return False

    monkeypatch.setattr(own_command.sys, "executable", str(program))
    assert own_command.run_scope(["run", "go"]) == EndedCommand(3, "out\n", "the reason", False)
    monkeypatch.setattr(processes, "has_ended", over)
    ended = own_command.run_scope(["run", "stay"], limit_s=limit_s)
    assert ended.out_of_time
    assert (ended.code != 0, ended.last) == (True, "the reason")


def test_an_interrupted_command_can_still_speak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, kept, begun = tmp_path / "python", tmp_path / "kept", tmp_path / "begun"
    os.mkfifo(begun)
    program.write_text(
        f"#!/bin/sh\ntrap 'sleep 0.1; echo ending >&2 && echo >{kept}; exit 130' INT\n"
        f"echo >{begun}\nwhile :; do sleep 1; done\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(own_command.sys, "executable", str(program))

    def interrupt() -> None:
        begun.read_text()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        own_command.run_scope(["run"])
    assert kept.exists(), "a closed pipe would have ended it before it could keep anything"


def test_an_interrupt_that_comes_with_the_start_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[str]] = []

    class Interrupted(subprocess.Popen[str]):
        """A command whose starter is interrupted before it knows that the command runs."""

        def __init__(self, _words: list[str], **options: Any) -> None:
            super().__init__(["sleep", "60"], **options)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("hpcscope.engine.reproduce.own_command.subprocess.Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        own_command.run_scope(["run"])
    (command,) = started
    assert command.returncode == -signal.SIGINT
