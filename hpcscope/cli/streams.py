"""Standard streams that never stop a command, even if the reader exits, the disk fills or a character is lacking.

A measurement is worth more than the lines about it, so it goes on and is recorded.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any

from hpcscope.visible import visible

READER_GONE = {errno.EPIPE, errno.EBADF, errno.EIO}
"""Errors that mean that nobody reads the rest."""


class EnduringStream(io.TextIOWrapper):
    """A text stream that drops what cannot be written, and remembers the first reason.

    Hidden characters in written texts are made visible, except in what is `drawn`.
    """

    failure: OSError | None = None

    @property
    def drawn(self) -> Drawn:
        """Return the same stream for colors and a moving cursor."""
        return Drawn(self)

    def write(self, text: str) -> int:
        """Write a text, or drop it."""
        return self.put(visible(text))

    def put(self, text: str) -> int:
        """Write a text as it is, or drop it."""
        try:
            return super().write(text)
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        """Write what is buffered, or drop it."""
        try:
            super().flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Redirect the stream, including its buffers, to the null device."""
        self.failure = self.failure or error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


class Drawn:
    """A stream to draw on; hidden characters in its data have already been made visible."""

    def __init__(self, stream: EnduringStream) -> None:
        self.write = stream.put
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def install() -> None:
    """Replace the standard streams with enduring ones; closed ones lead to the null device."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # This takes the lowest free number, so that no file of ours becomes a standard stream of a child.
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 # lives as long as the process
    sys.stdout = _enduring(1, sys.stdout)
    sys.stderr = _enduring(2, sys.stderr, each_line=True)


def lost_output() -> str:
    """Return why output that somebody waits for was lost; empty if none was."""
    sys.stdout.flush()
    failure = sys.stdout.failure if isinstance(sys.stdout, EnduringStream) else None
    return "" if failure is None or failure.errno in READER_GONE else failure.strerror or str(failure)


def one_line(text: str) -> str:
    """Return a text with line breaks and control characters spelled out, since it may quote a hostile file."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _enduring(number: int, before: io.TextIOBase | object, each_line: bool = False) -> EnduringStream:
    """Return the stream of a descriptor; characters that its encoding lacks become question marks."""
    encoding = getattr(before, "encoding", None) or "utf-8"
    if isinstance(before, io.TextIOWrapper):
        before.flush()
        binary = before.detach()
    else:
        binary = open(number, "wb", closefd=False)  # noqa: SIM115 # lives as long as the process
    return EnduringStream(binary, encoding, errors="replace", line_buffering=each_line or os.isatty(number))
