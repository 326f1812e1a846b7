"""The bases of every record that crosses a stage: immutable, and strict about its keys and texts."""

import shlex
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

Unix = Annotated[float, Field(ge=0, le=1e11)]
"""Unix time in seconds, up to the year 5138: calendars have no date for the largest numbers."""


class Strict(BaseModel):
    """A frozen record; a key that is not declared is an error.

    Its validator is built on first use: no command uses every record.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Asked(Strict):
    """A table written by users: `true` is not a number, `"3"` is not an integer, and numbers must be finite."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


def printable(text: str) -> str:
    """Return a text without line breaks and control characters, which other programs would misread.

    Raises ValueError for any other text.
    """
    if not text.isprintable():
        raise ValueError("must have no line breaks or control characters")
    return text


LONGEST = 4096
"""Most characters of a text, as of a path on Linux; work quadratic in the length, such as patterns, stays fast."""


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    if len(text) > LONGEST:
        raise ValueError(f"has {len(text)} characters; must have at most {LONGEST}")
    return text


def _passable(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not have the character U+0000, which ends an argument")
    return text


Argument = Annotated[str, AfterValidator(_passable)]
"""A word that is passed to another program unchanged."""
Words = Annotated[
    list[Argument], BeforeValidator(lambda value: shlex.split(value) if isinstance(value, str) else value)
]
"""The words of a command; a string is split as by a shell."""
Printable = Annotated[str, AfterValidator(printable)]
Text = Annotated[Printable, AfterValidator(_not_empty)]
"""A path, a word or a name for another program."""
