"""Lines of an output as the program wrote them, without additions of terminals, launchers and other systems."""

import re
import shlex
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from hpcscope.errors import UsageError

_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")
_TAGGED = re.compile(
    r"(?:\[?\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}\]?)?"
    r"(?P<who>\[[^\s\]]*\d\])?(?:\[[^\s\]]*\])?<std(?:out|err)>:\s?"
)
"""`mpirun --tag-output --timestamp-output`, and `--output` of Open MPI 5."""
_STAMPED = re.compile(
    r"(?P<who>)(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:?"
    r"(?: std(?:out|err) [FP])?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?)(?:\s|$)"
)
"""Logs of containers and continuous integration, and `ts`."""
_LABELLED = re.compile(r"(?P<who>\[\d+\]:? ?|(?! *\d+: +\d+ \w+ +\d+ times) *\d+: ?)")
"""`srun --label`, `mpiexec -l`; not NetPIPE's numbered rows."""
_NAMED = re.compile(r"(?P<who>(?!nprocs: )[A-Za-z][\w.-]*(?=: |:$| +\|)|\[\d+@[\w.-]+\])(?:: ?| +\| ?)?")
"""`pdsh`, `clush`, `docker compose`, and `mpiexec -prepend-pattern`; not the line of osu_init."""
_PREFIXES = ((_TAGGED, 0.0), (_STAMPED, 0.5), (_NAMED, 0.9), (_LABELLED, 0.5))
"""Each prefix with the fraction of lines that must have it; an ambiguous prefix must be on nearly all lines."""
_FEWEST = 3
"""Minimum number of lines with an ambiguous prefix."""
_BRACKETED = re.compile(r"\[\d+\] ")
"""Label of MPICH's `mpiexec -l`, also inside a line if the program wrote the line in pieces."""
_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


class TextLine(NamedTuple):
    """A line of a file."""

    number: int
    """Line number, starting at 1."""
    text: str
    ended: bool = True
    """Whether the line ends with a newline; the last line may be truncated."""


def decoded(file: str, content: bytes) -> str:
    """Return the text of a file, read as ISO 8859-1 if it is not UTF-8 or UTF-16; UsageError if it is not text."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if (end := text.find("\0")) >= 0:
        raise UsageError(
            f"{file}: not text, because character {end} is U+0000; must be the output of a benchmark (Darshan: "
            "output of darshan-parser)"
        )
    return text


def lines(text: str) -> list[TextLine]:
    """Return the non-blank lines with their numbers; lines of different processes are grouped by process."""
    found = list(_plain(text))
    for prefix, share in _PREFIXES:
        found = _without(found, prefix, share)
    found = [line for line in found if line.text.strip()]
    margin = min((len(line.text) - len(line.text.lstrip(" ")) for line in found), default=0)
    return [line._replace(text=line.text[margin:]) for line in found] if margin else found


def number(text: str, exponent: int = 0) -> float:
    """Return a number that a program printed with a decimal point or, depending on the locale, a decimal comma.

    `exponent`: power of ten from its unit to the base unit; applied exactly, unlike a floating-point product.
    """
    plain = text.replace(",", ".")
    value = float(plain)
    return float(Decimal(plain).scaleb(exponent)) if exponent else value


def words(command: str) -> list[str]:
    """Return the words of a printed command line, which may be truncated inside quotation marks."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _without(lines: list[TextLine], prefix: re.Pattern[str], share: float) -> list[TextLine]:
    """Remove a prefix that more than a fraction `share` of the lines has, and group the lines by its label."""
    matches = [prefix.match(line.text) for line in lines]
    labels = [match["who"] for match in matches if match]
    # Labels repeat; labels that count up are the program's own numbering.
    few = len(labels) <= share * len(lines) or (share > 0 and len(labels) < _FEWEST)
    if few or (share > 0 and len(set(labels)) > max(1, len(labels) / 2)):
        return lines
    places: dict[str, int] = {}
    place, result = 0, []
    for line, match in zip(lines, matches, strict=True):
        if match:
            place = places.setdefault(match["who"], len(places))
            line = line._replace(text=line.text[match.end() :])
        result.append((place, line))
    if prefix is _LABELLED:
        result = [(place, line._replace(text=_BRACKETED.sub("", line.text))) for place, line in result]
    return [line for _, line in sorted(result, key=lambda one: one[0])]


def _plain(text: str) -> Iterator[TextLine]:
    parts = text.split("\n")
    for number, raw in enumerate(parts, 1):
        # A progress bar returns to the start of its line: only the text written last remains.
        line = _ESCAPE.sub("", raw).rstrip("\r").rpartition("\r")[2]
        if line.strip():
            yield TextLine(number, line, number < len(parts))
