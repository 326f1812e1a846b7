"""JSON objects printed over many lines, interleaved with lines of other programs."""

import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hpcscope.exchange.imports.lines import TextLine

_BEGIN = re.compile(r"\{\s*$")
_SCALAR = r'(?:-?\d[\d.eE+-]*|null|true|false|"(?:[^"\\]|\\.)*")'
_INSIDE = re.compile(
    rf'\s*(?:[{{}}\]",]|\[\s*(?:$|[\[{{\]"])|{_SCALAR}\s*,?\s*$|\[\s*{_SCALAR}(?:\s*,\s*{_SCALAR})*\s*\]\s*,?\s*$)'
)
_CONTINUES = re.compile(r".*[\[,:]\s*$")
"""Line that may precede an object nested in another object."""
RESTARTS = 20
"""Maximum number of objects without an end in one output."""
_BRACKET = re.compile(r"[][]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class Printed(NamedTuple):
    """An object and its lines."""

    value: dict[str, Any]
    lines: list[TextLine]
    cut: bool = False
    """Whether its end is missing."""

    @property
    def numbers(self) -> set[int]:
        """The numbers of its lines."""
        return {line.number for line in self.lines}

    def having(self, key: str) -> list[int]:
        """Return the numbers of the lines that begin with a key."""
        return [line.number for line in self.lines if line.text.lstrip(" \t{,").startswith(f'"{key}"')]

    def rows(self, key: str) -> list[int]:
        """Return the numbers of the lines where the inner lists of a key's list begin."""
        found: list[int] = []
        first, depth = self.having(key)[:1], 0
        for line in self.lines:
            if depth == 0 and line.number not in first:
                continue
            for bracket in _BRACKET.findall(_STRING.sub("", line.text)):
                depth += 1 if bracket == "[" else -1
                if depth == 0:
                    return found
                if (depth, bracket) == (2, "["):
                    found.append(line.number)
        return found


def objects(lines: Sequence[TextLine]) -> Iterator[Printed]:
    """Yield the objects that begin at the start of a line.

    For a truncated object, keep only the complete elements of its list, and the lines up to the last of them.
    """
    rest = lines
    for _ in range(RESTARTS):
        cut = yield from _objects(rest)
        if not cut:
            return
        if (kept := _whole_elements(cut)) is not None:
            yield kept
        # The supposed rest of an object without an end may be the next object.
        rest = rest[rest.index(cut[0]) + 1 :]


def mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object of a key, or an empty object if there is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def elements(value: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects in the list of a key; empty if there is no list."""
    found = value.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _objects(lines: Sequence[TextLine]) -> Generator[Printed, None, list[TextLine]]:
    """Yield the objects; return the lines of the last one if it has no end."""
    begun: list[TextLine] = []
    depth = 0
    for line in lines:
        if _BEGIN.match(line.text) and not (begun and _CONTINUES.match(begun[-1].text)):
            begun, depth = [line], 1
        elif begun and _INSIDE.match(line.text):
            begun.append(line)
            plain = _STRING.sub("", line.text)
            depth += plain.count("{") - plain.count("}")
            if depth <= 0:
                if (value := parsed("\n".join(one.text for one in begun))) is not None:
                    yield Printed(value, begun)
                begun = []
    return begun


def _whole_elements(lines: Sequence[TextLine]) -> Printed | None:
    """Return a truncated object up to the last complete element of its list; None if there is none."""
    open_ones = ""
    end = 0
    for place, line in enumerate(lines):
        if place and line.text.startswith("{"):
            break  # start of another object
        before = open_ones
        for letter in _STRING.sub("", line.text):
            if letter in "{[":
                open_ones += letter
            elif letter in "}]":
                open_ones = open_ones[:-1]
        if line.ended and open_ones == "{[" and len(before) > len(open_ones):
            end = place + 1
    texts = [line.text for line in lines[:end]]
    if not texts:
        return None
    texts[-1] = texts[-1].rstrip().removesuffix(",")
    value = parsed("\n".join([*texts, "]}"]))
    return Printed(value, list(lines[:end]), cut=True) if value is not None else None


def parsed(text: str) -> dict[str, Any] | None:
    """Return the object that a text holds; None if it holds something else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
