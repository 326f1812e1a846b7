"""Kinds of values: each says what is allowed, and reads values from files and the command line."""

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hpcscope import units
from hpcscope.errors import WrongValueError

MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86400.0
LONGEST_TEXT = 4096
"""Most characters of a text, as of a path on Linux; work quadratic in the length, such as patterns, stays fast."""
_UNITS_S = {"": 1.0, "s": 1.0, "m": MINUTE_S, "min": MINUTE_S, "h": HOUR_S, "d": DAY_S}
_DURATION = re.compile(r"(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+|inf)(s|m|min|h|d|)", re.ASCII)


@dataclass(frozen=True)
class Kind:
    """Any text; the other kinds allow less, or other types."""

    metavar: str = field(default="TEXT", kw_only=True)
    """Placeholder of the value in help; words separated by `|` are the only allowed values."""
    json_type: ClassVar[str] = "string"

    def read(self, value: Any) -> Any:
        """Return a value from a file or a program; raises ValueError that says what is allowed."""
        if not isinstance(value, str) or "\0" in value:
            raise ValueError("must be a text without the character U+0000, which ends an argument")
        return value

    def typed(self, text: str) -> Any:
        """Return the value that was typed; raises ValueError that says what is allowed."""
        return self.read(text)

    def plain(self, value: Any) -> Any:
        """Return the value in the form of files."""
        return value

    def words(self, value: Any) -> str:
        """Return the value as a user types it."""
        return str(value)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value in files."""
        return {"type": self.json_type}


@dataclass(frozen=True)
class Text(Kind):
    """A word, a path or a name."""

    pattern: str = r".+"
    allowed: str = "must not be empty"

    def read(self, value: Any) -> str:
        """Return the text."""
        if not isinstance(value, str):
            raise ValueError("must be a text")
        if len(value) > LONGEST_TEXT:
            raise ValueError(f"has {len(value)} characters; must have at most {LONGEST_TEXT}")
        if not value.isprintable():
            raise ValueError("must have no line breaks or control characters")
        if re.fullmatch(self.pattern, value) is None:
            raise ValueError(self.allowed)
        return value


@dataclass(frozen=True)
class Flag(Kind):
    """True or false."""

    json_type: ClassVar[str] = "boolean"

    def read(self, value: Any) -> bool:
        """Return the value."""
        if not isinstance(value, bool):
            raise ValueError("must be true or false")
        return value


class Choice(Kind):
    """One of some words."""

    def __init__(self, *words: str) -> None:
        super().__init__(metavar="|".join(words))

    def read(self, value: Any) -> str:
        """Return the word."""
        words = self.metavar.split("|")
        if value not in words:
            near = did_you_mean(value, words) if isinstance(value, str) else ""
            raise ValueError(f"must be one of {', '.join(words)}{near}")
        return str(value)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value in files."""
        return {"enum": self.metavar.split("|")}


@dataclass(frozen=True)
class Number(Kind):
    """A number between two bounds."""

    least: float = 0.0
    most: float = math.inf
    above: bool = False
    """Whether it must be more than `least`."""
    metavar: str = field(default="X", kw_only=True)
    json_type: ClassVar[str] = "number"
    noun: ClassVar[str] = ""
    examples: ClassVar[str] = ""
    """Examples of texts that are also read from files; empty: files have numbers only."""

    def read(self, value: Any) -> Any:
        """Return the number."""
        if isinstance(value, str) and self.examples:
            return self.typed(value)
        types = int if self.json_type == "integer" else (int, float)
        number: Any = value if isinstance(value, types) and not isinstance(value, bool) else math.nan
        if not self.least <= number <= self.most or (self.above and number == self.least):
            raise ValueError(self.allowed)
        return number if self.json_type == "integer" else float(number)

    def typed(self, text: str) -> Any:
        """Return the number that was typed."""
        try:
            number = self.parsed(text.strip())
        except ValueError:
            raise ValueError(self.allowed) from None
        return self.read(number)

    def parsed(self, text: str) -> float:
        """Return any number that was typed; raises ValueError for other texts."""
        return units.parsed(text)

    def words(self, value: float) -> str:
        """Return the number as a user types it."""
        return f"{value:.15g}"

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        least = self.words(self.least)
        bounds = f"above {least}" if self.above else f"of at least {least}"
        if self.most < math.inf:
            most = self.words(self.most)
            bounds = f"{bounds} and at most {most}" if self.above else f"from {least} to {most}"
        return f"must be {self.noun}{bounds}{self.examples}"

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value in files."""
        bounds = {"exclusiveMinimum" if self.above else "minimum": self.least, "maximum": self.most}
        return {"type": self.json_type, **{key: bound for key, bound in bounds.items() if bound < math.inf}}


class Whole(Number):
    """An integer between two bounds; on the command line Ki, Mi or Gi may follow."""

    json_type, noun = "integer", "an integer "

    def __init__(self, least: int = 0, most: float = math.inf, metavar: str = "N") -> None:
        super().__init__(least, most, metavar=metavar)

    def parsed(self, text: str) -> int:
        """Return any integer that was typed."""
        return units.whole(text)


class Size(Whole):
    """A number of bytes: `4096`, `16Mi`."""

    noun, examples = "a size ", ", such as 4096, 64Ki or 2Gi"

    def __init__(self, least: int = 0, most: float = math.inf) -> None:
        super().__init__(least, most, "SIZE")

    def parsed(self, text: str) -> int:
        """Return any size that was typed."""
        return units.whole(text.removesuffix("B"))

    def words(self, value: float) -> str:
        """Return the size as a user types it: `16Mi`."""
        return units.size(value).replace(" ", "").removesuffix("B")


class Duration(Number):
    """Seconds: `90`, `90s`, `5m`, `24h`, `1.5d`; 0 is allowed only if it is the lower bound."""

    noun, examples = "a time ", ", such as 90, 90s, 5m or 24h"

    def __init__(self, most: float = math.inf, least: float | None = None) -> None:
        super().__init__(least or 0.0, most, least is None, metavar="TIME")

    def parsed(self, text: str) -> float:
        """Return any time that was typed."""
        match = _DURATION.fullmatch(text)
        if match is None:
            raise ValueError(text)
        return float(match[1]) * _UNITS_S[match[2]]

    def words(self, value: float) -> str:
        """Return the time as a user types it: `5m`."""
        whole = [(unit_s, name) for name, unit_s in _UNITS_S.items() if len(name) == 1 and value % unit_s == 0]
        unit_s, name = max(whole) if value and whole else (1.0, "s")
        return f"{value / unit_s:g}{name}"


class Share(Number):
    """A fraction: `2%` or `0.02`."""

    noun, examples = "a fraction ", ", such as 2% or 0.02"

    def __init__(self, most: float = 1.0, *, above: bool = False) -> None:
        super().__init__(0.0, most, above, metavar="FRACTION")

    def parsed(self, text: str) -> float:
        """Return any fraction that was typed."""
        # 2.3 / 100 is 0.023, but 2.3 * 0.01 is not.
        return units.parsed(text.removesuffix("%").strip()) / (100 if text.endswith("%") else 1)

    def words(self, value: float) -> str:
        """Return the fraction as a user types it: `2%`."""
        return f"{100 * value:.12g}%"


@dataclass(frozen=True)
class Several(Kind):
    """A list of values, which are separated by commas in a text."""

    of: Kind
    repeated: bool = False
    """Whether the option is given once for each value, which may have commas of its own."""

    def read(self, value: Any) -> tuple[Any, ...]:
        """Return the values."""
        if isinstance(value, str):
            return (self.of.read(value),) if self.repeated else self.typed(value)
        if not isinstance(value, list | tuple):
            raise ValueError("must be a list")
        return tuple(self._one(index, each) for index, each in enumerate(value))

    def typed(self, text: str) -> tuple[Any, ...]:
        """Return the values that were typed."""
        found = parts(text)
        return (self.of.typed(text),) if len(found) == 1 else tuple(map(self._typed, found))

    def words(self, value: Sequence[Any]) -> str:
        """Return the values as a user types them."""
        return ",".join(map(self.of.words, value))

    def plain(self, value: Sequence[Any]) -> list[Any]:
        """Return the values in the form of files."""
        return [self.of.plain(element) for element in value]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the values in files."""
        return {"type": "array", "items": self.of.schema}

    def _typed(self, part: str) -> Any:
        try:
            return self.of.typed(part)
        except ValueError as error:
            raise ValueError(f"{part}: {error}") from error

    def _one(self, index: int, value: Any) -> Any:
        try:
            return self.of.read(value)
        except WrongValueError as refused:
            raise WrongValueError(f"[{index}]{refused.key}", refused.value, str(refused)) from refused
        except ValueError as error:
            raise WrongValueError(f"[{index}]", value, str(error)) from error


def parts(text: str) -> list[str]:
    """Return the parts of a list that is split at commas outside brackets, as in `a,node[1-3,7]`."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text)]


def did_you_mean(word: str, allowed: Sequence[str]) -> str:
    """Return `; did you mean X?` if an allowed word is close."""
    close = difflib.get_close_matches(word, allowed, n=1)
    return f"; did you mean {close[0]}?" if close else ""
