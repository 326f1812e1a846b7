"""Texts of data, as terminals, browsers and spreadsheets show them without obeying them.

A host name, the name of a run or a line that a program printed may come from anybody.
"""

import re

HIDDEN = re.compile(
    "\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
"""Control characters except tabs and ends of lines; those without width, or that turn the direction of a line."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of cells that spreadsheets calculate."""


def visible(text: str) -> str:
    """Return a text whose hidden characters are replaced by a sign."""
    return HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def cell(value: object) -> object:
    """Return what a spreadsheet shows as it is: a text that it would calculate begins with an apostrophe."""
    if not isinstance(value, str):
        return value
    return f"'{visible(value)}" if value.startswith(FORMULA) else visible(value)
