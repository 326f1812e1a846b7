"""Hostile requests to a server, over its socket."""

from __future__ import annotations

import ctypes
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.cli.scope_command import SCOPE
from tests.fuzz import outputs
from tests.fuzz.damage import holders, small_run
from tests.fuzz.doors import MARK, SCRIPTS, Found, kept_repository, live_script
from tests.fuzz.inputs import Verdict

TOKEN = "a-token-of-the-fuzzer-only"
ANSWER_S = 60.0
"""For an answer of the server, which itself ends a request without headers after 10 s."""
METHODS = (
    *("GET",) * 8,
    *("PUT",) * 6,
    *("HEAD", "POST", "DELETE", "OPTIONS", "TRACE", "get", "G\0T", "PRI", ""),
)
VERSIONS = (*("1.1",) * 8, "1.0", "2.0", "9")
PATHS = (
    *(
        "/",
        "/index.html",
        "/live.html",
        "/events",
        "/runs",
        "/reports/{id}.html",
        "/data.js",
        "//",
        "/../../mine",
        "*",
    ),
    *(
        "/..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/reports/../../mine",
        "/\\..\\mine",
        "/%00",
        "/%ff%fe",
    ),
    *(
        f"/{SCRIPTS[0]}",
        f"/{SCRIPTS[1]}",
        "/?token=x",
        "http://127.0.0.1/",
        f"/{'a' * 70_000}",
        "/reports/0.html",
        "/é",
    ),
)
HEADERS = (
    *("Host: x", "Content-Length: -1", "Content-Length: 99999999999999", "Content-Length: 3\r\nContent-Length: 4"),
    *(
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "Expect: 100-continue",
        "Range: bytes=0-1",
    ),
    *(
        "Connection: Upgrade\r\nUpgrade: websocket",
        f"X: {'y' * 70_000}",
        f"Referer: {SCRIPTS[0]}",
        "Cookie: a=b",
        "\0: x",
    ),
    *("Host: a\r\nHost: b", "Content-Type: multipart/form-data", " folded: x", "Authorization: Basic eDp5"),
)


@dataclass
class Server:
    """A real server with a repository of its own, and what it may say and make."""

    process: subprocess.Popen[str]
    place: Path
    port: int
    before: frozenset[str]


@cache
def _server(_of: int) -> Server:
    """Return the server of this process, which ends with it."""
    folder = tempfile.TemporaryDirectory(prefix="fuzz-server-")
    holders.append(folder)
    place = Path(folder.name)
    shutil.copytree(kept_repository(), place / "kept")
    (place / "mine").write_text(f"{MARK}-secret")
    parent_dies = 1
    process = subprocess.Popen(
        [SCOPE, "serve", "--in", "kept", "--port", "0", "--uploads", "sent"],
        cwd=place,
        env={**os.environ, "SCOPE_TOKEN": TOKEN, "TMPDIR": str(place)},
        stdout=subprocess.PIPE,
        stderr=(place / "errors").open("w"),
        text=True,
        preexec_fn=lambda: ctypes.CDLL(None).prctl(parent_dies, signal.SIGKILL),
    )
    assert process.stdout is not None
    address = process.stdout.readline().partition("/?")[0]
    return Server(process, place, int(address.rpartition(":")[2]), frozenset(_names(place)))


def server_of_this_process() -> Server:
    """Return the server that is asked, one for each process that asks."""
    return _server(os.getpid())


def end_server() -> None:
    """End the server of this process; the next request has another one."""
    process = server_of_this_process().process
    process.kill()
    process.wait()
    _server.cache_clear()


def _names(place: Path) -> set[str]:
    """Return the names of all files but those that its requests may make or renew."""
    own = re.compile(r"(sent|scope-(?:serve|packed)-[^/]*|kept/\.lock|kept/index\.sqlite-\w+)(/.*)?")
    files = {str(each.relative_to(place)) for each in place.rglob("*")}
    return {each for each in files if not own.fullmatch(each)}


def served(chance: random.Random) -> Verdict | None:
    """Send one request to a server, and say what is wrong with its answer and with what it left."""
    server = server_of_this_process()
    request, open_to = _request(chance, server)
    answer = _exchange(server.port, request, events=b"/events" in request[:200])
    found = judged_answer(answer, open_to) or harm(server)
    if found:
        end_server()
    return Verdict(found[0], ["serve", repr(request[:300])], found[1]) if found else None


def _request(chance: random.Random, server: Server) -> tuple[bytes, bool]:
    """Return a request, and whether it has the token."""
    files = sorted((server.place / "kept" / "runs").glob("*.zip.xz"))
    file = chance.choice(files)
    method, path = chance.choice(METHODS), chance.choice(PATHS).replace("{id}", file.name[:16])
    lines, body = [], b""
    way = chance.random()
    if way < 0.6:
        lines.append(f"Authorization: Bearer {TOKEN}")
    elif way < 0.7:
        path += f"{'&' if '?' in path else '?'}token={TOKEN}"
    elif way < 0.8:
        lines.append(f"Authorization: {chance.choice(('Bearer', 'Bearer x', 'bearer  ', f'Basic {TOKEN}'))}")
    if method in ("PUT", "POST"):
        path = "/runs" if chance.random() < 0.8 else path
        body = packed() if chance.random() < 0.7 else file.read_bytes()
        if chance.random() < 0.9:
            body = chance.choice(outputs.DAMAGES)(chance, body)
        if chance.random() < 0.9:
            lines.append(f"Content-Length: {len(body) + (chance.choice((-3, 5)) if chance.random() < 0.1 else 0)}")
    lines += chance.sample(HEADERS, chance.choice((0, 0, 1, 2)))
    chance.shuffle(lines)
    ends = "\r\n" if chance.random() < 0.95 else "\n"
    head = ends.join([f"{method} {path} HTTP/{chance.choice(VERSIONS)}", *lines, "", ""])
    request = head.encode("utf-8", "surrogateescape") + body
    if chance.random() < 0.1:
        request = chance.choice(outputs.DAMAGES)(chance, request)
    return request, TOKEN.encode() in request


@cache
def packed() -> bytes:
    """Return a packed run."""
    with tempfile.TemporaryDirectory() as folder:
        small_run(Path(folder) / "run")
        subprocess.run([SCOPE, "pack", "run", "-o", "run.zip"], cwd=folder, check=True, capture_output=True)
        return (Path(folder) / "run.zip").read_bytes()


def _exchange(port: int, request: bytes, events: bool) -> bytes | None:
    """Send bytes and return what comes until the end; None where no end comes in time."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), ANSWER_S) as connection:
        try:
            connection.sendall(request)
            if not events:
                connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(1 << 16):
                answer += piece
                if events and b"data: " in answer:
                    break  # events have no end
        except TimeoutError:
            return None
        except OSError:
            pass  # it was refused before all of it was sent
    return answer


def _is_quiet(server: Server) -> bool:
    """Say whether a server gives up what its last request began; it may go on after its client has left."""
    end_s = time.monotonic() + ANSWER_S
    while begun := [*server.place.glob("sent/.upload-*"), *server.place.glob("scope-packed-*")]:
        if time.monotonic() > end_s:
            return False
        time.sleep(0.005 * len(begun))
    return True


def judged_answer(answer: bytes | None, open_to: bool) -> Found:
    """Say what is wrong with an answer of a server; `open_to`: whether the request had the token."""
    if answer is None:
        return "hang", f"no answer within {ANSWER_S:g} s"
    answer = re.sub(rb"^HTTP/1\.1 100 .*?\r\n\r\n", b"", answer, flags=re.DOTALL)  # that it expects the body
    head, _, body = answer.partition(b"\r\n\r\n")
    text = body.decode(errors="replace")
    status = int(found[1]) if (found := re.match(rb"HTTP/1\.1 (\d{3})", answer)) else 0
    if answer and not status:
        return "trace", f"no HTTP: {answer[:200]!r}"
    if status >= 500 or "Traceback" in text:
        return "trace", f"{status}: {text[:500]}"
    if not open_to and status not in (0, 400, 403, 404, 405):
        return "accepted", f"{status} without the token"
    if "root:x:0" in text or f"{MARK}-secret" in text:
        return "secret left", "a file of the host"
    if status and b"content-security-policy" not in head.lower():
        return "live script", f"{status} without a policy"
    return live_script(text) if b"text/html" in head else None


def harm(server: Server) -> Found:
    """Say that a server ended, complained, or made files elsewhere than in the folder of its uploads."""
    if server.process.poll() is not None:
        return "trace", f"the server ended with {server.process.returncode}"
    if not _is_quiet(server):
        return "leftover", f"of a request that ended {ANSWER_S:g} s ago"
    if said := (server.place / "errors").read_text():
        return "trace", said[-2000:]
    if new := _names(server.place) ^ server.before:
        return "outside", f"{sorted(new)[:5]}"
    sent = server.place / "sent"
    uploads = [one.name for one in sent.iterdir()] if sent.exists() else []
    wrong = [name for name in uploads if not re.fullmatch(r"(\.upload-\w+|[0-9a-f]{16})\.zip", name)]
    return ("leftover", f"among the uploads: {wrong[:5]}") if wrong else None
