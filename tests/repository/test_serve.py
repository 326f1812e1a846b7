"""The server: a real one, asked over HTTP and by a real browser; a run in progress; hostile uploads."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import threading
import urllib.request
from collections.abc import Iterable, MutableMapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.responses import PlainTextResponse

from hpcscope.archive.serve import app
from hpcscope.archive.serve.connection import MOST_OF_A_CLIENT
from hpcscope.archive.serve.runs_in_progress import RunsInProgress
from hpcscope.archive.serve.server import HEADERS
from hpcscope.rundirectory import RunDirectory
from tests.cli.scope_command import answered
from tests.messages import mentions
from tests.patience import PATIENCE_S
from tests.report import browser
from tests.repository.server import TOKEN, Served, packed
from tests.repository.test_repository import variant
from tests.repository.test_site import HOSTILE

WATCH = b"""
const live = document.getElementById("live");
const look = () => { if (live.childElementCount) fetch("/shown"); };
new MutationObserver(look).observe(live, { childList: true });
look();
"""
"""Says when the page shows a run."""
WATCHED = b'<script src="/watch.js"></script><script src="/last.js"></script></body>'


class Relay(BaseHTTPRequestHandler):
    """Passes requests on with the token; a page is complete when its last script is, which waits for `WATCH`."""

    served: Served
    shown = threading.Event()

    def do_GET(self) -> None:  # the name of http.server
        if self.path == "/shown":
            self.shown.set()
            self._answer("text/plain", [b""])
            return
        if self.path == "/watch.js":
            self._answer("text/javascript", [WATCH])
            return
        if self.path == "/last.js":
            self.shown.wait(PATIENCE_S)
            self._answer("text/javascript", [b""])
            return
        headers = {"Authorization": f"Bearer {TOKEN}"}
        asked = urllib.request.Request(self.served.address + self.path, headers=headers)
        with urllib.request.urlopen(asked, timeout=PATIENCE_S) as response:
            kind = response.headers["Content-Type"]
            if "event-stream" in kind:
                self._answer(kind, (response.readline() for _ in range(4)))
            else:
                self._answer(kind, [response.read().replace(b"</body>", WATCHED)])

    def _answer(self, kind: str, lines: Iterable[bytes]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        with suppress(BrokenPipeError):  # the browser has seen enough
            for line in lines:
                self.wfile.write(line)
                self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def begun(run: Path, folder: Path) -> Path:
    """A run that is in progress: the first launch has ended, the second has begun."""
    made = variant(run, folder, "begun")
    directory = RunDirectory(made)
    record = json.loads(directory.run.read_text())
    directory.run.write_text(json.dumps(record | {"status": "running", "finished_unix_s": None}))
    lines = directory.samples.read_text().splitlines(keepends=True)
    second = [at for at, line in enumerate(lines) if json.loads(line)["record"] == "launch"][1]
    directory.samples.write_text("".join(lines[: second + 2]))
    from hpcscope.launch.supervision.journal import Journal

    Journal.rebuilt(directory)
    return made


def test_nothing_is_answered_without_the_token(served: Served) -> None:
    for path in ("/", "/index.html", "/data/cases.js", "/events", "/nosuch"):
        assert served.ask(path, token="wrong")[0] == 403
    assert served.ask("/runs", token="", body=b"")[0] == 403


@pytest.mark.parametrize("path", ["/", "//evil.example/", "/index.html", "/\\\\evil.example"])
def test_the_token_begins_a_session_without_a_cookie(path: str, served: Served) -> None:
    begun = served.answer(f"{path}?token={TOKEN}", token="")
    assert begun.status == 303
    assert re.fullmatch(r"/[\w-]{32}/index.html", begun.headers["Location"])
    assert TOKEN not in str(begun.headers)
    assert "Set-Cookie" not in begun.headers
    assert "giza" in served.answer(begun.headers["Location"], token="").text


def test_a_session_reads_and_changes_nothing(served: Served, golden_run: Path, tmp_path: Path) -> None:
    session = served.session()
    assert served.answer(f"{session}data/cases.js", token="").status == 200
    body = packed(variant(golden_run, tmp_path, "sent"))
    assert served.answer(f"{session}runs", token="", body=body).status == 403
    assert served.waiting() == []


def test_sessions_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(app.time, "monotonic", lambda: now[0])
    guard = app.Guard(PlainTextResponse("passed on"), TOKEN)

    def asked(path: str, query: str = "") -> tuple[int, str]:
        sent: list[dict[str, Any]] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(dict(message))

        async def receive() -> dict[str, Any]:
            return {"type": "http.request"}

        scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
        asyncio.run(guard(scope, receive, send))
        return sent[0]["status"], dict(sent[0]["headers"]).get(b"location", b"").decode()

    first = asked("/", f"token={TOKEN}")[1]
    assert asked(first)[0] == 200
    now[0] = app.SESSION_S
    assert asked(first)[0] == 403
    others = [asked("/", f"token={TOKEN}")[1] for _ in range(app.MOST_SESSIONS + 1)]
    assert [asked(one)[0] for one in others] == [403, *[200] * app.MOST_SESSIONS]


SCRIPT = "<script>document.documentElement.dataset.injected='yes'</script>"


@pytest.mark.parametrize(
    ("method", "path", "token", "status"),
    [
        ("GET", "/index.html", TOKEN, 200),
        ("GET", "/data/cases.js", TOKEN, 200),
        ("GET", "/live.html", TOKEN, 200),
        ("GET", "/", "", 403),
        ("GET", f"/?token={TOKEN}", "", 303),
        ("GET", f"/{quote(SCRIPT)}", TOKEN, 404),
        ("POST", "/index.html", TOKEN, 405),
        ("PUT", "/runs", TOKEN, 422),
    ],
)
def test_all_answers_are_what_they_say_and_run_no_other_script(
    method: str, path: str, token: str, status: int, served: Served
) -> None:
    answer = served.answer(path, token, method=method)
    assert answer.status == status
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "unsafe-inline" not in re.findall("script-src [^;]*", answer.headers["Content-Security-Policy"])[0]
    assert (answer.headers["Content-Type"] or "").startswith("text/html") == (
        status == 200 and path.endswith(".html")
    )
    assert SCRIPT not in answer.text


def test_a_damaged_run_is_told_as_plain_text(served: Served, golden_run: Path, tmp_path: Path) -> None:
    (kept, _) = served.repository.add([variant(golden_run, tmp_path, "damaged", 7)])[0]
    file = served.repository.file(kept.id)
    file.chmod(0o600)
    file.write_bytes(b"no archive")
    answer = served.answer(f"/reports/{kept.id}.html")
    assert (answer.status, answer.headers["Content-Type"]) == (500, "text/plain; charset=utf-8")
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    served.repository.remove([kept.id])


def test_a_browser_reads_in_a_session(served: Served) -> None:
    if not browser.CHROMIUM:
        pytest.skip("no Chromium on this machine")
    seen = browser.shown(f"{served.address}{served.session()}index.html")
    assert 'data-settled="yes"' in seen
    assert "data-errors" not in seen


@pytest.mark.parametrize("name", ["index.html", "live.html", "reports/{run}.html"])
def test_a_browser_runs_no_script_that_was_added_to_a_page(name: str, served: Served, tmp_path: Path) -> None:
    if not browser.CHROMIUM:
        pytest.skip("no Chromium on this machine")
    text = served.ask("/" + name.format(run=served.repository.named("latest").id))[1]
    page = tmp_path / "page.html"
    page.write_text(text.replace("</body>", f"{SCRIPT}</body>"))
    opened = browser.opened(page)
    assert opened.attribute("data-injected") is None
    assert sum("Content Security Policy" in line and "inline script" in line for line in opened.console) == 1
    page.write_text(text.replace("</body>", f"{SCRIPT}</body>").replace("http-equiv", "data-was"))
    assert browser.opened(page).attribute("data-injected") == "yes", "the script itself works"


def test_connections_without_a_request_end_and_are_few(served: Served) -> None:
    waiting = [socket.create_connection(("127.0.0.1", served.port), PATIENCE_S) for _ in range(MOST_OF_A_CLIENT)]
    for one in waiting:
        one.sendall(b"GET / HTTP/1.1\r\nHost: ")
    with socket.create_connection(("127.0.0.1", served.port), PATIENCE_S) as other, suppress(ConnectionError):
        other.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert other.recv(1) == b""
    for one in waiting:
        with one, suppress(ConnectionError):
            assert one.recv(1) == b""
    assert served.ask("/")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        *("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/data/../site.json", "/reports/../../x.html"),
        *("/data/run-x.js", "/data/runs-9.js", "/data/course-a-b.js", "/clusters/nosuch.html"),
        "/reports/0000000000000000.html",
    ],
)
def test_only_pages_and_data_of_the_site_are_answered(path: str, served: Served) -> None:
    assert served.ask(path)[0] == 404


def test_reports_are_made_when_they_are_asked_for(served: Served) -> None:
    status, page = served.ask(f"/reports/{served.repository.named('latest').id}.html")
    assert status == 200
    assert "<title>Scope: " in page


def test_a_run_that_was_added_is_shown_at_once(served: Served, golden_run: Path, tmp_path: Path) -> None:
    assert HOSTILE not in served.ask("/data/runs-0.js")[1]
    served.repository.add([variant(golden_run, tmp_path, "added", 5)], note=HOSTILE)
    rows = json.loads(served.ask("/data/runs-0.js")[1].partition(",")[2].rpartition(")")[0])
    assert [row[1] for row in rows] == ["added", "kept"]
    assert rows[0][8] == HOSTILE


def test_a_browser_shows_the_run_in_progress(served: Served, golden_run: Path) -> None:
    if not browser.CHROMIUM:
        pytest.skip("no Chromium on this machine")
    runs = served.folder / "runs"
    runs.mkdir()
    begun(golden_run, runs)
    Relay.served = served
    with ThreadingHTTPServer(("127.0.0.1", 0), Relay) as relay:
        threading.Thread(target=relay.serve_forever, daemon=True).start()
        seen = browser.shown(f"http://127.0.0.1:{relay.server_port}/live.html")
        relay.shutdown()
    shutil.rmtree(runs)
    assert ">begun</h2>" in seen
    assert re.search(r"\b1 of \d", seen), "measurements of cases"
    assert "now: " in seen


def test_progress_follows_the_journal(golden_run: Path, tmp_path: Path) -> None:
    run = begun(golden_run, tmp_path)
    watched = RunsInProgress(tmp_path)
    (told,) = watched.told()
    directory = RunDirectory(run)
    journal = directory.journal.read_text().splitlines()
    done = sum('"record":"case"' in line.replace(" ", "") for line in journal)
    assert (told["done"], told["launches"]) == (done, 1)
    assert told["findings"]
    record = json.loads(directory.run.read_text())
    directory.run.write_text(json.dumps(record | {"status": "finished"}))
    assert watched.told() == []
    directory.run.write_text(json.dumps(record))
    assert len(watched.told()) == 1
    with directory.journal.open("a") as damaged:
        damaged.write("no journal\n")
    assert watched.told() == []
    assert RunsInProgress(tmp_path / "nosuch").told() == []


@pytest.mark.parametrize(
    ("words", "token", "said"),
    [
        (["--host", "192.0.2.1"], TOKEN, "192.0.2.1:8080: "),
        (["--port", "0"], "short", "SCOPE_TOKEN: ... 16 ... ASCII"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    words: list[str], token: str, said: str, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCOPE_TOKEN", token)
    told = answered(tmp_path, "serve", "--in", str(served.repository.folder.path), *words)
    assert (told.output, told.errors.count("\n"), mentions(told.errors, said)) == ("", 1, True), told
