"""Programs of a batch system that say what a test tells them to."""

from __future__ import annotations

from pathlib import Path

import pytest


def play(folder: Path, monkeypatch: pytest.MonkeyPatch, **says: str) -> None:
    """Put programs on PATH that say what they are told to; one that begins with `!` fails."""
    for name, text in says.items():
        (folder / name).write_text(
            f"#!/bin/sh\ncat >&{2 if text[0] == '!' else 1} <<'END'\n{text.lstrip('!')}\nEND\n"
        )
        with (folder / name).open("a") as file:
            file.write(f"exit {int(text[0] == '!')}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
