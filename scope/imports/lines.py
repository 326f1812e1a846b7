"""Lines of an output as the program wrote them: without what terminals, launchers and other systems put in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from scope.errors import UsageError

_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")
_TAGGED = re.compile(r"\[\d+,\d+\]<std(?:out|err)>:\s?")
"""`mpirun --tag-output`."""
_LABELLED = re.compile(r"\[?\d+\]?: ?")
"""`srun --label`, `mpiexec -l`."""
_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


class Line(NamedTuple):
    """A line of a file."""

    number: int
    """From 1."""
    text: str


def decoded(file: str, content: bytes) -> str:
    """Return the text of a file; UsageError where it is none. What is not UTF-8 is read as ISO 8859-1."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if (end := text.find("\0")) >= 0:
        raise UsageError(f"{file}: character {end} is U+0000: is no text; must be the output of a benchmark")
    return text


def lines(text: str) -> list[Line]:
    """Return the lines that are not blank, each with its number."""
    found = list(_plain(text))
    labelled = sum(_LABELLED.match(line.text) is not None for line in found)
    if found and labelled > len(found) / 2:
        found = [Line(number, _LABELLED.sub("", line, count=1)) for number, line in found]
    return [line for line in found if line.text.strip()]


def _plain(text: str) -> Iterator[Line]:
    for number, raw in enumerate(text.split("\n"), 1):
        # A progress bar returns to the start of its line: what is written last stands there.
        line = _ESCAPE.sub("", raw).rstrip("\r").rpartition("\r")[2]
        if line.strip():
            yield Line(number, _TAGGED.sub("", line, count=1))
