"""Runs that are sent to a server: put aside, and refused where they are hostile, too large or too many."""

from __future__ import annotations

import io
import json
import socket
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from hpcscope.archive.serve.uploads import MOST_WAITING, FullError, Upload
from tests.patience import PATIENCE_S, until
from tests.repository.server import TOKEN, Served, packed, running
from tests.repository.test_repository import variant


def test_an_upload_is_put_aside_and_not_added(served: Served, golden_run: Path, tmp_path: Path) -> None:
    before = served.repository.folder.ids()
    status, answer = served.ask("/runs", body=packed(variant(golden_run, tmp_path, "sent")))
    assert status == 201, answer
    name = json.loads(answer)["id"]
    assert served.waiting() == [f"{name}.zip"]
    assert served.repository.folder.ids() == before
    (kept, new) = served.repository.add([served.folder / "sent" / f"{name}.zip"])[0]
    assert (kept.id, new) == (name, True)
    (served.folder / "sent" / f"{name}.zip").unlink()


def archive(**entries: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries.items():
            file.writestr(name.replace("__", "/"), content)
    return made.getvalue()


def bomb() -> bytes:
    """An archive that says that it has two gigabytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("run/run.json", bytes(1 << 20))
        file.filelist[0].file_size = 2 << 30
    return made.getvalue()


def test_hostile_uploads_are_refused_and_leave_nothing(served: Served) -> None:
    escaping = archive(**{"run__run.json": b"{}", "run__..__..__..__escaped": b"x"})
    for body, said in (
        (b"no archive", "not a packed run"),
        (bomb(), "must be at most"),
        (escaping, "must be a path inside one directory"),
        (archive(run__run_json=b"{}"), "not a packed run"),
        (archive(**{"run__run.json": b'{"format": 999}'}), "run.json"),
        (archive(**{"run__run.json": b"<script>"}), "run.json"),
    ):
        status, answer = served.ask("/runs", body=body)
        assert (status, said in answer) == (422, True), answer
        assert str(served.folder) not in answer
    assert served.waiting() == []
    assert not list(served.folder.parent.rglob("escaped"))


def test_too_large_and_too_many_uploads_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hpcscope.archive.serve.uploads.MOST_BYTES", 10)
    upload = Upload.begin(tmp_path / "sent")
    with pytest.raises(FullError, match="MiB"):
        upload.add(b"eleven bytes")
    upload.drop()
    assert list((tmp_path / "sent").iterdir()) == []
    for number in range(MOST_WAITING):
        (tmp_path / "sent" / f"{number}.zip").touch()
    with pytest.raises(FullError, match=f"^{MOST_WAITING} runs"):
        Upload.begin(tmp_path / "sent")


def test_uploads_are_taken_only_where_they_are_asked_for(served: Served, tmp_path: Path) -> None:
    with running(tmp_path, served.repository) as other:
        status, said = other.ask("/runs", body=b"run")
    assert (status, "scope serve --uploads" in said) == (403, True)


def test_a_body_is_not_read_before_the_token(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), PATIENCE_S) as sender:
        sender.sendall(b"PUT /runs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        sent, piece = 0, bytes(1 << 20)
        with suppress(ConnectionError):
            while sent < 1 << 30:
                sender.sendall(piece)
                sent += len(piece)
    assert sent < 64 << 20


def test_an_upload_that_breaks_off_leaves_nothing_and_says_nothing(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), PATIENCE_S) as sender:
        head = f"PUT /runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 1000\r\n\r\n"
        sender.sendall(head.encode() + b"some")
        until(lambda: len(served.waiting()) == 1, "the upload to begin")
    until(
        lambda: served.waiting() == [], "the upload to be dropped"
    )  # and the server's errors are empty at its end
