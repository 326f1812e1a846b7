"""Lines of an output as the program wrote them: without what terminals, launchers and other systems put in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from scope.errors import UsageError

_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")
_TAGGED = re.compile(r"\[\d+,\d+\]<std(?:out|err)>:\s?")
"""`mpirun --tag-output`."""
_LABELLED = re.compile(r"\[\d+\]:? ?| *\d+: ?")
"""`srun --label`, `mpiexec -l`."""
_BRACKETED = re.compile(r"\[\d+\] ")
"""`mpiexec -l` of MPICH: also within a line, where the program wrote the line in pieces."""
_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


class Line(NamedTuple):
    """A line of a file."""

    number: int
    """From 1."""
    text: str
    ended: bool = True
    """Whether the file has an end of this line: the last one may be cut."""


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
    labels = [label[0] for line in found if (label := _LABELLED.match(line.text))]
    # Labels repeat; what counts up is the program's own numbering.
    if len(labels) > len(found) / 2 and len(set(labels)) <= max(1, len(labels) / 2):
        found = [line._replace(text=_BRACKETED.sub("", _LABELLED.sub("", line.text, count=1))) for line in found]
    return [line for line in found if line.text.strip()]


def number(text: str, exponent: int = 0) -> float:
    """Return a number as a program printed it: with a point or, where it follows the locale, a comma.

    `exponent`: the power of ten from its unit to the basic one; no digit changes, as in a product it might.
    """
    plain = text.replace(",", ".")
    value = float(plain)
    return float(Decimal(plain).scaleb(exponent)) if exponent else value


def _plain(text: str) -> Iterator[Line]:
    parts = text.split("\n")
    for number, raw in enumerate(parts, 1):
        # A progress bar returns to the start of its line: what is written last stands there.
        line = _ESCAPE.sub("", raw).rstrip("\r").rpartition("\r")[2]
        if line.strip():
            yield Line(number, _TAGGED.sub("", line, count=1), number < len(parts))
