"""A share of the hostile inputs at the doors, the same at every run; faulty doors are found."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

import hpcscope.cli
from tests.fuzz import doors, inputs, kinds, seeds, server_door

SEED = 17
INPUTS = {"serve": 30, "exchange": 3, "import": 12, "anonymize": 4}
POLICY = b"\r\nContent-Security-Policy: default-src 'none'\r\nContent-Type: text/html\r\n\r\n"
FAULTY_SERVER = """#!{python}
import http.server, urllib.parse
class Open(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Security-Policy", "default-src 'none'")
        self.end_headers()
        self.close_connection = True
        self.wfile.write(urllib.parse.unquote(self.path).encode("utf-8", "replace"))
    do_HEAD = do_PUT = do_GET
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Open)
print(f"http://127.0.0.1:{{server.server_port}}/?token=x", flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    kinds.prepare()


@pytest.mark.slow("new hostile inputs, as `make fuzz` draws them; there, every input that once did harm")
@pytest.mark.parametrize("kind", INPUTS)
def test_no_hostile_input_at_a_door_does_harm(kind: str) -> None:
    found = [kinds.tried(kind, SEED, number) for number in range(INPUTS[kind])]
    assert [one for one in found if one is not None] == []


def test_no_input_that_once_did_harm_does_any() -> None:
    found = [(one, kinds.tried(one.kind, one.seed, one.number)) for one in seeds.stored()]
    assert found
    assert [one for one in found if one[1] is not None] == []


def complaints(kind: str, most: int) -> set[str]:
    """Return the complaints about the first inputs at a door."""
    found = [kinds.tried(kind, SEED, number) for number in range(most)]
    return {one.complaint for one in found if one is not None}


def test_a_copy_that_keeps_its_names_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def main() -> NoReturn:
        shutil.copytree("run", "copy")
        raise SystemExit(0)

    monkeypatch.setattr(hpcscope.cli, "main", main)
    assert complaints("anonymize", 6) == {"secret left"}


def test_a_page_that_obeys_its_data_and_a_file_elsewhere_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def main() -> NoReturn:
        output = Path(sys.argv[2]).read_text(errors="replace")
        Path("made").mkdir()
        Path("made/run.json").write_text("{}")
        Path("made/report.html").write_text(output)
        if "<img" in output:
            Path("elsewhere").touch()
        raise SystemExit(0)

    monkeypatch.setattr(hpcscope.cli, "main", main)
    assert complaints("import", 20) == {"live script", "outside"}


def test_what_another_repository_smuggles_in_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    careless = tmp_path / "scope"
    careless.write_text("#!/bin/sh\ncp -a there/runs/. here/runs\n")
    careless.chmod(0o755)
    monkeypatch.setattr(inputs, "SCOPE", careless)
    assert complaints("exchange", 10) == {"outside"}


def test_a_damaged_run_that_is_listed_is_found(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    here = Path(shutil.copytree(doors.kept_repository(), tmp_path / "here"))
    assert doors.taken(tmp_path, here) is None
    with next((here / "runs").glob("*.zip.xz")).open("ab") as file:
        file.write(b"x")
    found = doors.taken(tmp_path, here)
    assert found is not None
    assert found[0] == "accepted"


@pytest.mark.parametrize(
    ("answer", "open_to", "complaint"),
    [
        (None, True, "hang"),
        (b"HTTP/1.1 500 x" + POLICY, True, "trace"),
        (b"HTTP/1.1 200 OK" + POLICY + b"Traceback (most recent call last)", True, "trace"),
        (b"oops", True, "trace"),
        (b"HTTP/1.1 200 OK" + POLICY, False, "accepted"),
        (b"HTTP/1.1 200 OK" + POLICY + b"root:x:0:0", True, "secret left"),
        (b"HTTP/1.1 200 OK\r\n\r\n", True, "live script"),
        (b"HTTP/1.1 200 OK" + POLICY + doors.SCRIPTS[1].encode(), True, "live script"),
        (b"HTTP/1.1 200 OK" + POLICY + b"&lt;script&gt;fuzz-was-here()", True, None),
        (b"HTTP/1.1 403 no" + POLICY, False, None),
        (b"", False, None),
    ],
)
def test_a_wrong_answer_of_a_server_is_found(answer: bytes | None, open_to: bool, complaint: str | None) -> None:
    found = server_door.judged_answer(answer, open_to)
    assert (found[0] if found else None) == complaint


def test_a_server_that_is_open_and_escapes_nothing_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "scope"
    program.write_text(FAULTY_SERVER.format(python=sys.executable))
    program.chmod(0o755)
    server_door.end_server()
    monkeypatch.setattr(server_door, "SCOPE", program)
    try:
        assert {"accepted", "live script"} <= complaints("serve", 40)
    finally:
        server_door.end_server()


def test_what_a_server_leaves_elsewhere_is_found() -> None:
    server = server_door.server_of_this_process()
    assert server_door.harm(server) is None
    for name, complaint in (("stray", "outside"), ("kept/stray", "outside"), ("sent/stray", "leftover")):
        stray = server.place / name
        stray.parent.mkdir(exist_ok=True)
        stray.touch()
        found = server_door.harm(server)
        stray.unlink()
        assert found is not None
        assert found[0] == complaint
    (server.place / "errors").write_text("Traceback (most recent call last)")
    assert server_door.harm(server) is not None
    (server.place / "errors").write_text("")
