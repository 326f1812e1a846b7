"""A real server of a repository, asked over HTTP."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from hpcscope.archive import packing
from hpcscope.archive.repository import Repository
from tests.cli.scope_command import SCOPE
from tests.patience import PATIENCE_S

TOKEN = "a-token-of-this-test-only"


@dataclass(frozen=True)
class Answer:
    """An answer over HTTP."""

    status: int
    text: str
    headers: Message


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    address: str
    folder: Path
    repository: Repository

    def ask(self, path: str, token: str = TOKEN, body: bytes | None = None) -> tuple[int, str]:
        """Return the status and the text of an answer."""
        answer = self.answer(path, token, body)
        return answer.status, answer.text

    def answer(self, path: str, token: str = TOKEN, body: bytes | None = None, method: str = "") -> Answer:
        """Return an answer; redirections are not followed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            connection.request(method or ("GET" if body is None else "PUT"), path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.read().decode(), response.headers)
        finally:
            connection.close()

    @property
    def port(self) -> int:
        """Return where it listens."""
        return int(self.address.rpartition(":")[2])

    def session(self) -> str:
        """Return the folder of a new session, as a browser gets it."""
        return self.answer(f"/?token={TOKEN}", token="").headers["Location"].removesuffix("index.html")

    def waiting(self) -> list[str]:
        """Return what was put aside."""
        folder = self.folder / "sent"
        return sorted(file.name for file in folder.iterdir()) if folder.exists() else []


@contextmanager
def running(folder: Path, repository: Repository, *options: str) -> Iterator[Served]:
    """Let a server run in a folder."""
    words = ["serve", "--in", str(repository.folder.path), "--port", "0", *options]
    with (folder / "errors.txt").open("w") as errors:
        process = subprocess.Popen(
            [SCOPE, *words],
            cwd=folder,
            env={**os.environ, "SCOPE_TOKEN": TOKEN, "TMPDIR": str(folder)},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.endswith(f"/?token={TOKEN}")
        yield Served(address.partition("/?")[0], folder, repository)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_S)
    assert not list(folder.glob("scope-serve-*"))
    assert (folder / "errors.txt").read_text() == ""


def packed(run: Path) -> bytes:
    """Return a run as it is sent."""
    file = packing.pack(run, run.parent / "packed.zip")
    content = file.read_bytes()
    file.unlink()
    return content
